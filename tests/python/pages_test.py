"""The examples of README.md and docs/: what pages show of Python is run, and does what they show."""

import doctest
import glob
import os
import re
import shutil
import tempfile
import unittest

import rehearse

ROOT = os.environ["REHEARSE_SOURCE_ROOT"]


def examples_of(path):
    """The examples of one page."""
    with open(path, encoding="utf-8") as file:
        page = doctest.DocTestParser().get_doctest(file.read().replace("```", ""), {}, os.path.basename(path), None, 0)
    for example in page.examples:
        if not shutil.which("gnuplot") and ("figure_" in example.source or "picture" in example.source):
            example.options[doctest.SKIP] = True
        # oneDNN is a module of its own.
        if not os.access(os.environ.get("REHEARSE_DNNL_MODULE", ""), os.R_OK) and "layer.json" in example.source:
            example.options[doctest.SKIP] = True
    return page


class Pages(unittest.TestCase):
    def run_page(self, page, folder):
        said = []
        runner = doctest.DocTestRunner()
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        os.chdir(folder)
        runner.run(page, out=said.append)
        self.assertEqual(runner.failures, 0, "".join(said))
        return runner.tries

    def test_examples_do_what_they_show(self):
        before, tries = os.getcwd(), {}
        for path in [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
            page = examples_of(path)
            if not page.examples:
                continue
            with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder:
                try:
                    tries[page.name] = self.run_page(page, folder)
                finally:
                    os.chdir(before)
        self.assertGreater(tries["python.md"], 10)

    def test_every_command_is_shown_by_a_page(self):
        shown = ""
        for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
            if os.path.basename(path) != "python.md":
                shown += "".join(example.source for example in examples_of(path).examples)
        missing = [name for name in rehearse.commands() if f"rehearse.{name}(" not in shown]
        self.assertEqual(missing, [])

    def test_every_page_of_a_command_shows_python(self):
        missing = []
        for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if text.startswith("# `rehearse ") and not re.search(r"^```py", text, re.M):
                missing.append(os.path.basename(path))
        self.assertEqual(missing, [])
