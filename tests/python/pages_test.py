"""The examples of docs/python.md."""

import doctest
import os
import shutil
import tempfile
import unittest

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]


class Pages(unittest.TestCase):
    def test_examples_do_what_they_show(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, "examples", "dapple"), os.path.join(folder, "examples", "dapple"))
            os.chdir(folder)
            try:
                said = []
                with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
                    page = doctest.DocTestParser().get_doctest(file.read().replace("```", ""), {}, "python.md", None, 0)
                runner = doctest.DocTestRunner()
                runner.run(page, out=said.append)
            finally:
                os.chdir(before)
        self.assertGreater(runner.tries, 10)
        self.assertEqual(runner.failures, 0, "".join(said))
