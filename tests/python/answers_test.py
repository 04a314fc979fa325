"""The classes of answers: what docs/schema/ says is what callers see, and nothing lacks a meaning or a unit."""

import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import rehearse
from described import complaints_about
from rehearse import _handles

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]
SCHEMAS = os.path.join(ROOT, "docs", "schema")
JOB = {"model": "gpt2-xl", "device": "h100", "devices": 8, "global_batch": 64}


def script(name):
    """A script as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(ROOT, "scripts", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Schemas(unittest.TestCase):
    def complaints(self, file=None, pattern="", by=""):
        """Those about a copy of the schemas, in one of which the first match is replaced."""
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "schema")
            shutil.copytree(SCHEMAS, copy)
            if file:
                path = os.path.join(copy, file)
                with open(path, encoding="utf-8") as old:
                    text, changed = re.subn(pattern, by, old.read(), count=1)
                self.assertEqual(changed, 1)
                with open(path, "w", encoding="utf-8") as new:
                    new.write(text)
            return script("describe-answers").describe(copy)[1]

    def test_nothing_lacks_a_unit_or_a_meaning(self):
        self.assertEqual(self.complaints(), [])

    def test_a_number_without_a_unit_is_found(self):
        self.assertIn("price-1.json.parameters: no unit", self.complaints("price-1.json", '"unit": "1", ', ""))

    def test_a_value_without_a_meaning_is_found(self):
        lacking = self.complaints("plan-2.json", r'"description": "version of rehearse", ', "")
        self.assertIn("plan-2.json.made_by.version: no description", lacking)

    def test_a_second_name_of_no_answer_is_found(self):
        lacking = self.complaints("README.md", r"\| \[`rehearse-goodput/1`.*\n", "")
        self.assertEqual(lacking, ["data/texts.yaml: second names of rehearse-goodput/1, which no command makes"])


class Answers(unittest.TestCase):
    def test_answers_are_what_is_said_of_them(self):
        plan = rehearse.plan(**JOB)
        sweep = rehearse.plan(**{**JOB, "devices": "4..8"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan.save(path)
            check = rehearse.check_plan(path)
        made = {
            "Plan": plan,
            "Sweep": sweep,
            "PlanCheckList": check,
            "PlayedPlan": rehearse.simulate(plan),
            "PlayedSchedules": rehearse.simulate(plan, compare=True),
            "Simulation": rehearse.simulate(schedule="zb-v", stages=2, microbatches=3),
            "SimulationComparison": rehearse.simulate(compare=True, stages=2, microbatches=3),
            "SimulationSweep": rehearse.sweep(model="gpt2-xl", device="h100", devices="2,4", global_batch=8, fix=["mbs=1"]),
            "Profile": rehearse.cost(model="gpt2-xl", devices="h100"),
            "Tables": rehearse.cost(list=True),
            "WorkloadList": rehearse.feed(list=True),
            "Workload": rehearse.feed("unet3d_h100", show=True),
            "Goodput": rehearse.elastic(plan, rate="rsc-1", seeds=1),
            "Validation": rehearse.validate(rank=True),
            "Price": rehearse.price(os.path.join(ROOT, "examples", "train.sh"), device="h100"),
            "CostExplanation": rehearse.cost(os.path.join(ROOT, "examples", "gpt-block.mlir"), devices="h100", explain=True),
            "DatasetGeneration": rehearse.dataset_generate("unet3d_h100", output="nowhere", dry_run=True),
        }
        for name, answer in made.items():
            with self.subTest(name):
                self.assertEqual(type(answer).__name__, name)
                self.assertIs(type(answer), getattr(rehearse, name))
                self.assertEqual(complaints_about(answer), [])

    def test_tables_of_callers_are_described(self):
        played = rehearse.simulate(rehearse.plan(**JOB), keep_tasks=True)
        self.assertEqual(complaints_about(played), [])
        self.assertEqual(type(played.tasks).begin.__doc__, "begin [s]")
        self.assertEqual(len(played.tasks.begin), len(played.tasks.kind))

    def test_tasks_are_made_when_they_are_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path, trace = os.path.join(folder, "plan.json"), os.path.join(folder, "trace.json")
            plan = rehearse.plan(**JOB)
            plan.save(path)
            kept = rehearse.simulate(plan, keep_tasks=True)
            for played in (rehearse.simulate(plan), rehearse.simulate(path, trace=trace), kept):
                if os.path.exists(trace):
                    os.remove(trace)
                self.assertIn("tasks", dir(played))
                self.assertEqual(played.tasks.end.tolist(), kept.tasks.end.tolist())
                self.assertFalse(os.path.exists(trace))
            schedule = rehearse.simulate(schedule="zb-v", stages=2, microbatches=3)
            self.assertEqual(max(schedule.tasks.end), schedule.makespan)
            self.assertNotIn("tasks", dir(rehearse.simulate(compare=True, stages=2, microbatches=3)))
            changed = rehearse.simulate(path)
            rehearse.plan(**{**JOB, "global_batch": 32}).save(path)
            with self.assertRaisesRegex(rehearse.Error, "have changed since: call simulate again"):
                changed.tasks

    def test_help_says_meaning_and_unit(self):
        self.assertEqual(rehearse.Plan.memory.__doc__, "bytes of the fullest device; None: not known [B]")
        self.assertEqual(rehearse.Plan.tokens_per_second.__doc__, "throughput in tokens, by the same time [tokens/s]")
        self.assertEqual(rehearse.Simulation.lower_bound.__doc__.split("; ")[-1], "None: unknown [s]")
        self.assertEqual(rehearse.Simulation.makespan.__doc__, "time from the first pass to the last [s]")
        self.assertEqual(type(rehearse.plan(**JOB).made_by).planner.__doc__, rehearse.Plan.planner.__doc__)
        for answer in _handles.answers().values():
            made = getattr(rehearse, answer["class"])
            for name in made._described:
                self.assertTrue(getattr(made, name).__doc__, f"{answer['class']}.{name}")

    def test_dir_has_what_there_is(self):
        plan = rehearse.plan(**JOB)
        self.assertEqual(len(dir(plan)), len(set(dir(plan))))
        for name in ("memory", "stages", "made_by", "devices_used", "write"):
            self.assertIn(name, dir(plan))
        self.assertNotIn("budget", dir(plan))
        self.assertIn("budget", dir(type(plan)))
        self.assertFalse(hasattr(plan, "budget"))
        with self.assertRaisesRegex(AttributeError, "this Plan has no 'budget'"):
            plan.budget
        self.assertIn("bytes", dir(plan.stages))
        self.assertIn("total", dir(plan.pipelines) + dir(plan.iteration) + ["total"])

    def test_types_of_attributes_are_annotated_for_completion(self):
        plan = rehearse.plan(**JOB)
        self.assertIs(type(plan).__annotations__["stages"], type(plan.stages))
        self.assertIs(type(plan.stages).__annotations__["tensor"], type(plan.stages.tensor))
        self.assertIs(type(plan).__annotations__["memory"], float)

        class Imitation:  # as IPython makes one of a class
            pass

        one = Imitation()
        one.__class__ = type(plan.stages)
        self.assertLessEqual({"tensor", "forward", "to_pandas"}, set(dir(one)))
        self.assertFalse(hasattr(one, "_handle"))

    def test_a_plan_has_the_settings_of_fix(self):
        fixed = {"tp": 2, "pp": 2, "vp": 2, "mbs": 4, "zero": 1, "dp": 2}
        plan = rehearse.plan(model="llama-3-8b", device="h100", devices=8, global_batch=64, fix=fixed)
        self.assertEqual({name: getattr(plan, name) for name in fixed}, fixed)
        self.assertEqual((plan.cp, plan.ep), (1, 1))
        self.assertEqual(plan.tp * plan.cp * plan.pp * plan.dp, plan.devices_used)
        self.assertEqual(rehearse.Plan.tp.__doc__, "tensor parallel degree [1]")
        graph = os.path.join(ROOT, "examples", "dapple", "vgg-19-by-flops-pbs-32.txt")
        import rehearse.hpgo as hpgo

        conductor = hpgo.conductor_from_torch_graph_and_seps(graph, 32, 2048, [8, 16])
        conductor.py_orchestrate()
        self.assertEqual(set(conductor.res.stages.data), {9, 7})
        self.assertFalse(hasattr(conductor.res, "dp"))
        with self.assertRaisesRegex(AttributeError, "'dp' is not one number for all stages"):
            conductor.res.dp

    def test_keys_that_are_no_names(self):
        fixed = rehearse.plan(**{**JOB, "model": "llama-3-8b"}, fix=["tp=2", "tp-overlap=yes"])
        self.assertEqual(fixed.training.technique.tp_overlap, "yes")
        made_by = fixed.made_by
        self.assertIsNone(made_by.import_)
        self.assertIn("import_", dir(made_by))

    def test_a_map_behind_a_single_value_has_an_attribute(self):
        plan = rehearse.plan(**JOB)
        self.assertEqual((plan.model, plan.model_.layers, plan.schedule_.group), (JOB["model"], plan.layers, 0))
        self.assertIn("model_", dir(plan))
        self.assertEqual(plan.formula, plan.iteration_time)
        self.assertNotIn("budget", dir(plan))
        played = rehearse.simulate(plan)
        self.assertEqual(played.formula_.iteration_time, played.formula)
        with self.assertRaisesRegex(AttributeError, "this Plan has no 'nearest_'"):
            rehearse.plan(**{**JOB, "model": "vit-l16", "global_batch": 8}, software="ideal").nearest_

    def test_the_training_on_all_tokens(self):
        plan = rehearse.plan(**JOB, tokens="1T", price=3)
        self.assertEqual((plan.days * 86400, plan.price, plan.energy * 1000), (plan.budget.seconds, plan.budget.dollars, plan.budget.watt_hours))
        self.assertAlmostEqual(plan.tokens_per_second, plan.samples_per_second * plan.sequence)
        self.assertIn("days", dir(plan))
        plan = rehearse.plan(**JOB)
        self.assertFalse({"days", "price", "energy"} & set(dir(plan)))
        with self.assertRaisesRegex(AttributeError, "this plan has no 'price': ask for it with tokens= and price="):
            plan.price

    def test_emitted_arguments_are_shown(self):
        plan = rehearse.plan(**JOB, emit="megatron")
        self.assertIn("--micro-batch-size", plan.arguments)
        self.assertEqual(str(plan), plan.arguments)
        self.assertIn(plan.arguments, repr(plan))
        self.assertIn("arguments", dir(plan))
        plan = rehearse.plan(**JOB)
        self.assertNotIn("arguments", dir(plan))
        with self.assertRaisesRegex(AttributeError, "has no 'arguments': ask for them with emit="):
            plan.arguments

    def test_what_is_not_known_is_none(self):
        plan = rehearse.plan(**JOB)
        unlike = rehearse.simulate(schedule="dualpipe", stages=4, microbatches=8)
        self.assertEqual((plan.shards_share, plan.stages.backward_weight[0], unlike.lower_bound, unlike.gap), (None,) * 4)
        for answer in (plan, unlike, rehearse.simulate(plan, compare=True), rehearse.elastic(nodes=8, mtbf="50000h", seeds=1), rehearse.validate()):
            for name, value in answer.items():
                if isinstance(value, (float, rehearse.Column)):
                    self.assertNotIn("nan", repr(value), name)

    def test_what_has_a_value_is_not_unknown(self):
        for schedule in ("zb-v", "1f1b", "pipedream"):
            simulation = rehearse.simulate(schedule=schedule, stages=2, microbatches=4)
            with self.subTest(schedule):
                self.assertLessEqual(simulation.iteration_time, simulation.makespan)
                self.assertEqual(simulation.iteration_time == simulation.makespan, simulation.flushes)

    def test_an_import_reads_no_descriptions(self):
        said = subprocess.run([sys.executable, "-c", "import rehearse; print(rehearse._handles._answers)"], stdout=subprocess.PIPE)
        self.assertEqual(said.stdout.strip(), b"None")
        self.assertEqual(json.loads(json.dumps(_handles.answers())), _handles.answers())

    def test_the_package_lists_its_classes(self):
        self.assertLessEqual({"Plan", "Price", "PlayedPlan", "CountsList", "plan", "Error"}, set(dir(rehearse)))
        self.assertTrue(all(hasattr(rehearse, name) for name in dir(rehearse)))

    def test_an_unknown_class_is_no_attribute(self):
        for name in ("Plans", "plan_", "Planlist"):
            with self.subTest(name), self.assertRaises(AttributeError):
                getattr(rehearse, name)


if __name__ == "__main__":
    sys.exit(unittest.main())
