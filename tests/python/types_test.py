"""The stubs, as mypy --strict sees them."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import rehearse
from rehearse import _handles

GOOD = """
import datetime
import pathlib

import rehearse
import rehearse.hpgo


def seconds(path: str) -> float:
    profile = rehearse.cost(model="gpt2-xl", devices=["a100", "h100"], microbatch_size=2, precision="fp8")
    try:
        profile.save(path)
    except rehearse.InputError as error:
        print(error.code)
    loaded: rehearse.Profile = rehearse.profile_show(path.encode(), threads=2)
    rehearse.simulate(schedule="1f1b", forward=0.5, backward=[1, 1.5])
    for name, column in loaded.layers.items():
        print(name, len(column))
    plan = rehearse.plan(devices=range(8, 64, 8), fix={"tp": 8}, deadline=datetime.timedelta(days=30), output=pathlib.Path(path))
    assert isinstance(plan, rehearse.Plan)
    plan.figure(path)
    one = rehearse.plan(model="gpt2-xl", devices=64, global_batch=512)
    played, schedule = rehearse.simulate(one, level="layers"), rehearse.simulate(schedule="zb-v", stages=4)
    print(one.iteration_time + played.formula + schedule.formula, schedule.devices * 2, played.devices.begin[0])
    print(rehearse.simulate("plan.json", compare=True).planned + 1, rehearse.simulate(replay="trace.json").span + 1)
    print(plan.memory + plan.expected, plan.made_by.planner, plan.stages.tensor[0], rehearse.simulate(plan).makespan)
    speedup, stages = rehearse.hpgo.conductor_from_torch_graph_and_seps(path, 1, 128, [8, 16]).py_orchestrate()
    return float(sum(loaded["forward"][0])) / speedup
"""
WRONG = {
    'rehearse.cost(modle="gpt2-xl")': "modle",
    'rehearse.cost(precision="fp9")': "precision",
    "rehearse.cost(microbatch_size=1.5)": "microbatch_size",
    "rehearse.weigh()": "weigh",
    'memory: str = rehearse.profile_show("a").microbatch_size': "int",
}
TYPES = {"float?": "Union[float, None]", "int?": "Union[int, None]", "bool?": "Union[bool, None]", "text": "Union[str, None]", "column": "rehearse.Column", "texts": "tuple[Union[str, None], ...]", "any": "object"}


def attributes():
    """A function for each class of an answer, which reads an attribute of each type that it has."""
    yield "from typing import Union\n"
    for answer in _handles.answers().values():
        for is_list in range(answer["lists"] + 1):
            name, seen = answer["class"] + "List" * is_list, set()
            for key, value in answer["of"].items():
                kind = _handles.described(value, is_list)[0] if isinstance(value, list) else "rehearse.Table"
                if key != "*" and kind not in seen:
                    seen.add(kind)
                    attribute = _handles.attribute_name(key, rehearse.Handle)
                    kind = TYPES.get(kind, kind)
                    yield f"def read_{name}_{len(seen)}(answer: rehearse.{name}) -> {kind}:\n    return answer.{attribute}\n"


def cells():
    """The notebooks of examples/python/, each in a function of its own."""
    for path in sorted(glob.glob(os.path.join(os.environ["REHEARSE_SOURCE_ROOT"], "examples", "python", "*.ipynb"))):
        with open(path, encoding="utf-8") as file:
            code = ["".join(cell["source"]) for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        yield f"def notebook_{os.path.basename(path)[:-6]}() -> None:\n" + textwrap.indent("\n".join(code), "    ") + "\n"


@unittest.skipUnless(shutil.which("mypy"), "no mypy here")
class Types(unittest.TestCase):
    def mypy(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "caller.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            environment = {**os.environ, "MYPYPATH": os.path.abspath(os.environ["PYTHONPATH"])}
            return subprocess.run(
                ["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", folder, path], env=environment, capture_output=True, text=True, cwd=folder
            )

    def test_a_caller_is_right(self):
        text = GOOD + "\n" + "\n".join([*attributes(), *cells()])
        self.assertGreater(text.count("def read_"), 80)
        self.assertIn("def notebook_plan", text)
        checked = self.mypy(text)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_what_is_wrong_is_found(self):
        checked = self.mypy("import rehearse\n" + "\n".join(WRONG))
        self.assertEqual(checked.returncode, 1)
        for line, word in enumerate(WRONG.values(), 2):
            self.assertRegex(checked.stdout, rf"caller.py:{line}: error: .*{word}")


if __name__ == "__main__":
    sys.exit(unittest.main())
