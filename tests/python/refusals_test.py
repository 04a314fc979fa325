"""Memory that Python refuses, at each point of a call: a MemoryError, or the call's own answer, and nothing is broken."""

import sys
import unittest

import rehearse

try:
    from _testcapi import remove_mem_hooks, set_nomemory
except ImportError:
    set_nomemory = None

LIMIT = 5000


@unittest.skipIf(set_nomemory is None, "this Python is without _testcapi")
class Refusals(unittest.TestCase):
    def refuse_each(self, function, wrong=()):
        """Calls it with the first allocation refused, then the second, until none is. Returns how many were."""
        for number in range(LIMIT):
            finished = False
            set_nomemory(number, number + 1)
            try:
                function()
                finished = True
            except MemoryError:
                pass
            except wrong:
                finished = True
            finally:
                remove_mem_hooks()
            if finished and number > 0 and self.quiet(function, wrong, number):
                return number
        self.fail(f"there are more than {LIMIT} allocations")

    def quiet(self, function, wrong, number):
        """Whether the call has no more allocations than that: some refusals are made good, as by an empty cache."""
        for later in (number + 1, number + 2, number + 5, number + 20):
            set_nomemory(later, later + 1)
            try:
                function()
            except MemoryError:
                return False
            except wrong:
                pass
            finally:
                remove_mem_hooks()
        return True

    def setUp(self):
        self.assertTrue(rehearse.Profile)  # what is read once is no part of a call

    def test_a_call(self):
        command = rehearse._rehearse.Command("cost")
        self.assertGreater(self.refuse_each(lambda: command(model="gpt2", devices=["a100", "h100"], microbatch_size="2")), 3)

    def test_the_class_of_an_answer(self):
        command = rehearse._rehearse.Command("cost")
        self.refuse_each(lambda: self.assertIsInstance(command(model="gpt2", devices="a100"), rehearse.Profile))

    def test_a_command(self):
        self.assertGreater(self.refuse_each(lambda: rehearse._rehearse.Command("cost").options), 100)

    def test_values(self):
        made = rehearse.cost(model="gpt2", devices="a100")
        layers = made.layers
        for read in (
            lambda: made["forward"].tolist(),
            lambda: memoryview(made["forward"]),
            lambda: made["forward"].__arrow_c_array__(),
            lambda: layers.__arrow_c_stream__(),
            lambda: layers.__arrow_c_array__(),
            lambda: layers.__arrow_c_schema__(),
            lambda: made["layers.name"],
            lambda: made.names,
            lambda: made.write("json"),
            lambda: repr(made["forward"]),
        ):
            self.refuse_each(read)

    def test_errors(self):
        command = rehearse._rehearse.Command("cost")
        self.refuse_each(lambda: command(model="gpt2-xxl", devices="a100"), rehearse.UsageError)
        self.refuse_each(lambda: command(model="gpt2-xl", devices="a100", microbatch_size=0), rehearse.UsageError)
        # From 3.12 on, difflib ends the interpreter where memory is refused, without any module of ours.
        if sys.version_info < (3, 12):
            self.refuse_each(lambda: command(modle="gpt2"), (TypeError, ImportError))
