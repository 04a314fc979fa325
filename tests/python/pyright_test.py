"""The stubs, as pyright sees them: the callers and notebooks of types_test.py. It is basedpyright of PyPI, which brings its own Node.js."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import types_test

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]
LIMIT = 200  # seconds
NOT_OURS = (  # pandas has no types, and callers of tests use little of what they get
    "reportMissingImports",
    "reportMissingModuleSource",
    "reportUnknownMemberType",
    "reportUnknownVariableType",
    "reportUnusedExpression",
    "reportUnusedVariable",
)


class Pyright(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        packages = os.path.join(ROOT, "tests", "support", "pyright.txt")
        made = subprocess.run([os.path.join(ROOT, "scripts", "python-environment"), "pyright", packages], capture_output=True, text=True)
        if made.returncode != 0:
            raise unittest.SkipTest((made.stderr.splitlines() or ["no environment"])[-1])

    def check(self, text):
        """What it finds in a file, as lines of its JSON."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "caller.py"), "w", encoding="utf-8") as file:
                file.write(text)
            settings = {"include": ["caller.py"], "typeCheckingMode": "strict", "extraPaths": [os.path.abspath(os.environ["PYTHONPATH"])]}
            with open(os.path.join(folder, "pyrightconfig.json"), "w", encoding="utf-8") as file:
                json.dump({**settings, **dict.fromkeys(NOT_OURS, False)}, file)
            program = os.path.join(ROOT, "build-test", "pyright", "bin", "basedpyright")
            said = subprocess.run([program, "--outputjson"], capture_output=True, text=True, cwd=folder, timeout=LIMIT)
            return json.loads(said.stdout)["generalDiagnostics"]

    def test_a_caller_is_right(self):
        found = self.check("\n".join([types_test.GOOD, *types_test.attributes(), *types_test.cells()]))
        self.assertEqual([one["message"] for one in found], [])

    def test_what_is_wrong_is_found(self):
        found = self.check("import rehearse\n" + "\n".join(types_test.WRONG))
        lines = {one["range"]["start"]["line"] for one in found if one["severity"] == "error"}
        self.assertEqual(lines, set(range(1, 1 + len(types_test.WRONG))))


if __name__ == "__main__":
    sys.exit(unittest.main())
