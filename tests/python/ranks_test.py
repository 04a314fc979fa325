"""Calls that every rank of a run makes, each from a process of Python."""

import os
import shutil
import subprocess
import sys
import unittest

PROGRAM = """
import sys
import rehearse
report = rehearse.measure_links(kinds="none", smallest="1 KiB", largest="1 KiB", limit=0.05, tolerance="50%")
if "ranks" in report:
    line = f"rank 0: {report.ranks} {report.hosts} {'send' in report.times.work} {min(report.times.seconds) > 0}"
else:
    line = f"another rank: {len(report)} {str(report)!r}"
sys.stdout.write(line + chr(10))  # at once, as both ranks write to one pipe
"""
NO_SIZE = """
import sys
import rehearse
try:
    rehearse.measure_links(kinds="none", smallest="12 B", largest="12 B")
except rehearse.Error as error:
    sys.stdout.write(f"{error}" + chr(10))
"""


@unittest.skipIf(shutil.which("mpirun") is None, "there is no mpirun")
@unittest.skipIf(not os.access(os.environ.get("REHEARSE_MPI_MODULE", ""), os.R_OK), "this build is without MPI")
class Ranks(unittest.TestCase):
    def lines_of(self, program):
        environment = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        words = ["mpirun", "-n", "2", sys.executable, "-c", program]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(done.stdout.splitlines())

    def test_links_between_two_processes(self):
        self.assertEqual(self.lines_of(PROGRAM), ["another rank: 0 ''", "rank 0: 2 1 True True"])

    def test_sizes_of_which_there_is_none(self):
        lines = self.lines_of(NO_SIZE)
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, "^rank 0 .*: no multiple of 8 bytes lies between smallest and largest$")


if __name__ == "__main__":
    unittest.main()
