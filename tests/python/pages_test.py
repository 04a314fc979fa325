"""The examples of README.md and docs/: what pages show of Python is run, and does what they show."""

import doctest
import glob
import os
import re
import shutil
import tempfile
import unittest

import rehearse
from described import complaints_about

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


def leaves_of(value, name=""):
    """The names of what a document has, as docs/library.md says: a.b, also of each item of a list."""
    if isinstance(value, dict):
        for key in set(value) - {"$schema"}: # which is for editors
            yield from leaves_of(value[key], f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves_of(inner, name)
    else:
        yield name


class Pages(unittest.TestCase):
    def check_values(self, name, handle):
        """All that the document of an answer has is a value of it."""
        lacking = sorted(set(leaves_of(handle.to_dict())) - set(handle.names) - {"format"})
        self.assertEqual(lacking, [], f"{name} of {handle.kind}")
        self.assertEqual(complaints_about(handle), [], name)
        return True

    def run_page(self, page, folder):
        said = []
        runner = doctest.DocTestRunner()
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        os.chdir(folder)
        runner.run(page, out=said.append, clear_globs=False)
        self.assertEqual(runner.failures, 0, "".join(said))
        answers = {name: value for name, value in page.globs.items() if "json" in getattr(value, "forms", [])}
        self.answers += sum(self.check_values(name, answer) for name, answer in answers.items())
        return runner.tries

    def test_examples_do_what_they_show(self):
        before, tries = os.getcwd(), {}
        self.answers = 0
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
        self.assertGreater(self.answers, 20)

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
