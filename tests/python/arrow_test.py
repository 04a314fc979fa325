"""Columns and tables, as pyarrow, polars, pandas and numpy of PyPI read them."""

import os
import subprocess
import sys
import unittest

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]
HEAD = """
import numpy, pandas, polars, pyarrow
import rehearse
plan = rehearse.plan(model="llama-3-70b", device="h100", devices=64, global_batch=512, fix={"pp": 4})
played = rehearse.simulate(plan)
profile = rehearse.cost(model="gpt2-xl", devices=["a100", "h100"])
"""


class Arrow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        packages = os.path.join(ROOT, "tests", "support", "arrow.txt")
        made = subprocess.run([os.path.join(ROOT, "scripts", "python-environment"), "arrow", packages], capture_output=True, text=True)
        if made.returncode != 0:
            raise unittest.SkipTest((made.stderr.splitlines() or ["no environment"])[-1])

    def run_lines(self, lines):
        program = os.path.join(ROOT, "build-test", "arrow", "bin", "python")
        done = subprocess.run([program, "-c", HEAD + lines], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_tables(self):
        self.run_lines("""
table = pyarrow.table(plan.stages)
table.validate(full=True)
assert table.num_rows == plan.pp and table["tensor"].to_pylist() == plan.stages.tensor.tolist()
assert table["device_type"].to_pylist() == ["h100-sxm"] * 4 and table["backward_weight"].null_count == 4
assert table["layers"].to_pylist()[0] == [0, plan.stages.last_layer[0]]
kinds = [[one["kind"] for one in stage] for stage in table["transfers"].to_pylist()]
assert sum(kinds, []) == list(plan.stages["transfers.kind"])
tasks = pyarrow.table(played.tasks)
tasks.validate(full=True)
assert tasks["end"].to_pylist() == played.tasks.end.tolist() and tasks["kind"].to_pylist() == list(played.tasks.kind)
assert pyarrow.schema(played.tasks).names == tasks.column_names
assert pyarrow.record_batch(played.tasks).num_rows == tasks.num_rows
assert pyarrow.table(plan.iteration).num_rows == 1
""")

    def test_columns(self):
        self.run_lines("""
assert pyarrow.array(plan.stages.tensor).to_pylist() == plan.stages.tensor.tolist()
assert pyarrow.array(plan.stages.backward_weight).null_count == 4 and plan.stages.backward_weight[0] is None
assert numpy.isnan(numpy.asarray(plan.stages.backward_weight)).all()
forward = pyarrow.array(profile["forward"])
assert forward.to_pylist() == profile["forward"].tolist() and str(forward.type) == "fixed_size_list<item: double>[50]"
devices = rehearse.cost(list=True).devices
assert pyarrow.array(devices.tf32).to_pylist() == devices.tf32.tolist() and None in devices.tf32
gaps = rehearse.validate().runs
assert pyarrow.table(gaps)["fits"].to_pylist() == gaps.fits.tolist()
address = pyarrow.array(plan.stages.tensor).buffers()[1].address
assert address == numpy.asarray(plan.stages.tensor).ctypes.data  # no copy of what lies side by side
""")

    def test_what_is_read_outlives_its_answer(self):
        self.run_lines("""
import gc
table, begin = pyarrow.table(played.tasks), pyarrow.array(played.tasks.begin)
left = [played.tasks.__arrow_c_stream__(), played.tasks.__arrow_c_array__(), profile.layers.parameters.__arrow_c_array__()]
before = begin.to_pylist()
del played, left
gc.collect()
table.validate(full=True)
assert begin.to_pylist() == before == table["begin"].to_pylist()
""")

    def test_frames(self):
        self.run_lines("""
points = rehearse.plan(model="llama-3-8b", device="h100", devices=[8, 16], global_batch=64).points
assert points.to_polars()["devices"].to_list() == [8, 16] and points.to_polars()["reason"].to_list() == [None, None]
assert list(points.to_pandas()["devices"]) == [8, 16] and len(points.to_pandas().columns) == len(points)
assert played.tasks.to_pandas()["end"].max() == max(played.tasks.end)
assert list(plan.stages.to_pandas()["transfers.kind"][0])[:1] == ["all_reduce"]
""")


if __name__ == "__main__":
    sys.exit(unittest.main())
