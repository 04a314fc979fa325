"""The stubs, as mypy --strict sees them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

GOOD = """
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
    rehearse.plan().figure(path)
    speedup, stages = rehearse.hpgo.conductor_from_torch_graph_and_seps(path, 1, 128, [8, 16]).py_orchestrate()
    return float(sum(loaded["forward"][0])) / speedup
"""
WRONG = {
    'rehearse.cost(modle="gpt2-xl")': "modle",
    'rehearse.cost(precision="fp9")': "precision",
    "rehearse.cost(microbatch_size=1.5)": "microbatch_size",
    "rehearse.weigh()": "weigh",
}


@unittest.skipUnless(shutil.which("mypy"), "no mypy here")
class Types(unittest.TestCase):
    def mypy(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "caller.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            environment = {**os.environ, "MYPYPATH": os.path.abspath(os.environ["PYTHONPATH"])}
            return subprocess.run(
                ["mypy", "--strict", "--cache-dir", folder, path], env=environment, capture_output=True, text=True, cwd=folder
            )

    def test_a_caller_is_right(self):
        checked = self.mypy(GOOD)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_what_is_wrong_is_found(self):
        checked = self.mypy("import rehearse\n" + "\n".join(WRONG))
        self.assertEqual(checked.returncode, 1)
        for line, word in enumerate(WRONG.values(), 2):
            self.assertRegex(checked.stdout, rf"caller.py:{line}: error: .*{word}")


if __name__ == "__main__":
    sys.exit(unittest.main())
