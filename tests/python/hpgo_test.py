"""HPGO's interface: its records, where they are, and the shape of its answers on a graph of ours."""

import glob
import json
import os
import unittest

import rehearse
import rehearse.hpgo as HPGO

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]
REFERENCE = os.environ.get("REHEARSE_REFERENCE") or os.path.join(ROOT, "..", "shared", "reference")
GRAPH = os.path.join(ROOT, "examples", "dapple", "vgg-19-by-flops-pbs-32.txt")


@unittest.skipUnless("plan" in rehearse.commands(), "the library does not plan yet")
class Hpgo(unittest.TestCase):
    def test_published_script(self):
        conductor = HPGO.conductor_from_torch_graph_and_seps(GRAPH, 32, 2048, [8, 16])
        speedup, stages = conductor.py_orchestrate()
        layers = conductor.res.to_dict()["model"]["layers"]
        self.assertEqual(stages[0][0], 0)
        self.assertEqual(stages[-1][1], layers - 1)
        for one, next_one in zip(stages, stages[1:]):
            self.assertEqual(one[1], next_one[0])
        used = [device for stage in stages for device in stage[3]]
        self.assertEqual(len(used), len(set(used)))
        self.assertTrue(set(used) <= set(range(16)))
        self.assertTrue(1 <= speedup <= 16)

    def test_micro_batch_of_the_model_counts(self):
        conductor = HPGO.conductor_from_torch_graph_and_seps(GRAPH, 32, 64, [8, 16])
        first = conductor.py_orchestrate()
        conductor.m.min_micro_batch_size = 32
        self.assertNotEqual(conductor.py_orchestrate(), first)

    def test_answers_on_record(self):
        files = sorted(glob.glob(os.path.join(REFERENCE, "hybrid", "golden", "*.hier8-16.json")))
        files += sorted(glob.glob(os.path.join(REFERENCE, "hybrid", "golden", "*.flat16.json")))
        if not files:
            self.skipTest("no reference data")
        compared = 0
        for path in files:
            with open(path, encoding="utf-8") as file:
                records = json.load(file)
            for record in records[-2:] if isinstance(records, list) else [records]:
                given, answer = record["input"], record["output"]
                graph = os.path.join(REFERENCE, "hybrid", given["profile"])
                if "best_hybrid_speedup" not in answer or given["bandwidths"]["ethernet_p2p"] != 1e9 or "gnmt" in graph:
                    continue
                with self.subTest(path):
                    conductor = HPGO.conductor_from_torch_graph_and_seps(graph, given["pbs"], given["gbs"], given["seps"])
                    conductor.m.min_micro_batch_size = given["mbs"]
                    conductor.m.optimizer_memory_scaling = given["oms"]
                    speedup, stages = conductor.py_orchestrate()
                    self.assertAlmostEqual(speedup / answer["best_hybrid_speedup"], 1, delta=1e-9)
                    self.assertEqual(len(stages), len(answer["stages"]))
                    compared += 1
        self.assertGreater(compared, 0)


class Machines(unittest.TestCase):
    def test_machines_of_seps(self):
        self.assertEqual(HPGO.devices_from_seps([8, 16, 20]).machines, [8, 8, 4])
        self.assertEqual(len(HPGO.devices_from_seps([1, 2, 3])), 3)
        for wrong in ([], [0], [8, 8], [8, 4]):
            with self.assertRaises(ValueError):
                HPGO.devices_from_seps(wrong)
