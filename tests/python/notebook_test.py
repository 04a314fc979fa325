"""The notebooks of examples/python, cell by cell, as Jupyter would run them: the value of a cell's last line is shown."""

import ast
import glob
import json
import os
import unittest

import rehearse

FOLDER = os.path.join(os.environ["REHEARSE_SOURCE_ROOT"], "examples", "python")


def show(value):
    """What Jupyter asks of a value: HTML, then pictures, then text."""
    for name in ("_repr_html_", "_repr_svg_"):
        made = getattr(value, name, lambda: None)()
        if made is not None:
            return made
    return repr(value)


def run_cell(source, names, where):
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), where, "eval"), names)
        if value is not None and not show(value):
            raise AssertionError(f"{where}: nothing is shown")


class Notebooks(unittest.TestCase):
    @unittest.skipUnless("plan" in rehearse.commands(), "the library does not plan yet")
    def test_every_cell_runs(self):
        paths = sorted(glob.glob(os.path.join(FOLDER, "*.ipynb")))
        self.assertTrue(paths)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                notebook = json.load(file)
            names = {"print": lambda *_: None}
            for number, cell in enumerate(notebook["cells"], 1):
                with self.subTest(path, cell=number):
                    if cell["cell_type"] == "code":
                        self.assertEqual(cell["outputs"], [], "outputs are not kept")
                        run_cell("".join(cell["source"]), names, f"{os.path.basename(path)}, cell {number}")
