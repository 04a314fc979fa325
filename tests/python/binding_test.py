"""The binding itself: arguments, exceptions, handles, columns, threads and signals."""

import collections.abc
import copy
import ctypes
import datetime
import hashlib
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import rehearse

MODEL = {"model": "gpt2-xl", "devices": ["a100", "h100"]}


def profile():
    return rehearse.cost(**MODEL)


class Arguments(unittest.TestCase):
    def test_lists_are_joined(self):
        self.assertEqual(profile().write("json"), rehearse.cost(model="gpt2-xl", devices="a100,h100").write("json"))

    def test_numbers_and_texts_of_numbers_are_the_same(self):
        self.assertEqual(
            rehearse.cost(microbatch_size=4, **MODEL).write("json"),
            rehearse.cost(microbatch_size="4", **MODEL).write("json"),
        )

    def test_a_number_that_may_be_in_another_unit_is_asked_about(self):
        for mtbf in (50000, 50000.5, "50000"):
            with self.assertRaisesRegex(rehearse.Error, "if that is meant, or '50000(.5)?h'"):
                rehearse.elastic(nodes=8, mtbf=mtbf)
        hours = rehearse.elastic(nodes=8, mtbf="50000h", seeds=1)
        self.assertEqual(hours.write("json"), rehearse.elastic(nodes=8, mtbf=50000 * 3600, seeds=1).write("json"))
        with self.assertRaisesRegex(rehearse.Error, "write '0.05%' if that is meant, or '5%'"):
            rehearse.plan(model="gpt2-xl", device="h100", devices=1, global_batch=8, headroom=0.05)
        with self.assertRaisesRegex(rehearse.Error, "'4194304 samples'"):
            rehearse.plan(model="gpt2-xl", device="h100", devices=1, global_batch=4 << 20)

    def test_a_time_that_needs_its_unit_is_in_seconds_as_a_number(self):
        asked = {"model": "gpt2-xl", "device": "h100", "devices": 1, "global_batch": 8, "tokens": "1B"}
        self.assertEqual(
            rehearse.plan(deadline=30 * 86400, **asked).write("json"), rehearse.plan(deadline="30d", **asked).write("json")
        )

    def test_times_whole_floats_ranges_and_mappings(self):
        job = {"model": "gpt2-xl", "device": "h100", "global_batch": 64}
        self.assertEqual(
            rehearse.elastic(nodes=8, mtbf=datetime.timedelta(hours=50000), seeds=1).to_dict(),
            rehearse.elastic(nodes=8, mtbf="50000h", seeds=1).to_dict(),
        )
        self.assertEqual(rehearse.plan(**job, devices=8.0).to_dict(), rehearse.plan(**job, devices=8).to_dict())
        self.assertEqual(rehearse.plan(**job, devices=range(8, 25, 8))["devices"].tolist(), [8, 16, 24])
        self.assertEqual(
            rehearse.plan(**job, devices=8, fix={"dp": 8, "mbs": 2.0, "sequence-parallel": True}).to_dict(),
            rehearse.plan(**job, devices=8, fix=["dp=8", "mbs=2", "sequence-parallel=yes"]).to_dict(),
        )
        self.assertEqual(rehearse.cost(**MODEL, time_limit=datetime.timedelta(minutes=1)).to_dict(), profile().to_dict())
        for wrong, error in (
            ({"devices": 8.5}, rehearse.UsageError),
            ({"devices": range(1, 1 << 40)}, ValueError),
            ({"devices": 8, "fix": {"dp": [8]}}, TypeError),
            ({"devices": 8, "headroom": datetime.timedelta(hours=1)}, rehearse.UsageError),
        ):
            with self.subTest(wrong), self.assertRaises(error):
                rehearse.plan(**job, **wrong)

    def test_errors_speak_python(self):
        job = {"model": "gpt2-xl", "device": "h100", "devices": 8}
        for call, text in (
            (lambda: rehearse.plan(), "model='llama-3-70b' device='h100' devices=64 global_batch=512"),
            (lambda: rehearse.plan(**job), "global_batch=RANGE is missing, which objective='iteration' needs"),
            (lambda: rehearse.plan(**job, global_batch=8, output="a", figure="a"), "^output and figure both write 'a'"),
            (lambda: rehearse.cost(model="gpt2-xl", devices="h9"), r"see rehearse.cost\(list=True\)"),
            (lambda: rehearse.trace_import("a", output="b", append=True, force=True), "append=True and force=True exclude"),
            (lambda: rehearse.simulate(schedule="1f1b"), "stages=N is missing"),
        ):
            with self.subTest(text), self.assertRaisesRegex(rehearse.Error, text) as raised:
                call()
            self.assertNotRegex(str(raised.exception), "--[a-z]|(^| )-[a-z] ")
        with tempfile.TemporaryDirectory() as folder:
            calls, trace = os.path.join(folder, "strace.out"), os.path.join(folder, "run.db")
            with open(calls, "w", encoding="utf-8") as file:
                file.write('7 1700000000.000000 openat(AT_FDCWD, "/data/x", O_RDONLY) = 3 <0.000010>\n')
            asked = {"output": trace, "zone": "UTC", "warning": lambda text: None}
            rehearse.trace_import(calls, **asked)
            with self.assertRaisesRegex(rehearse.Error, f"^'{trace}' exists: force=True replaces it$"):
                rehearse.trace_import(calls, **asked)
            rehearse.trace_import(calls, force=True, **asked)

    def test_command_lines_in_errors_are_calls(self):
        for text, call in {
            "use 'rehearse plan --model x'": "use rehearse.plan(model='x')",
            "a plan ('rehearse plan -o')": "a plan (rehearse.plan(output=…))",
            "see 'rehearse help plan job'": "see help(rehearse.plan)",
            "with 'rehearse dataset generate unet3d -o data'": "with rehearse.dataset_generate('unet3d', output='data')",
            "'rehearse trace -- python'": "rehearse.trace('python')",
            "such as 'mpirun -n 2 rehearse measure links'": "such as 'mpirun -n 2 python SCRIPT'",
            "plan with '--fix zero=3' (HSDP)": "plan with fix='zero=3' (HSDP)",
        }.items():
            self.assertEqual(rehearse._options.in_python(text, []), call)
        with self.assertRaisesRegex(rehearse.UsageError, r"rehearse.cost\(list=True\)"):
            rehearse.cost(model="gpt2-xl", devices="none")

    def test_options_of_other_software_are_theirs(self):
        options = rehearse._rehearse.Command("price").options
        from rehearse._options import in_python

        text = "job.sh: runs train.py without any argument of Megatron-LM (--micro-batch-size, --num-layers, …)"
        for theirs in (text, "job.sh:3: '--device 7' is unknown", "'/data/-d x' is a folder"):
            self.assertEqual(in_python(theirs, options), theirs)
        self.assertEqual(in_python("'--device NAME' is missing; --strict: no, or --device a.json", options),
                         "device=NAME is missing; strict=True: no, or device='a.json'")

    def test_none_is_the_default(self):
        self.assertEqual(profile().write("json"), rehearse.cost(microbatch_size=None, threads=None, **MODEL).write("json"))

    def test_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile \u00e4.json"
            profile().save(path)
            self.assertEqual(rehearse.profile_show(path).write("json"), profile().write("json"))
            self.assertEqual(rehearse.profile_show(os.fsencode(path)).write("json"), profile().write("json"))

    def test_a_zero_that_is_meant_is_no_default(self):
        with self.assertRaisesRegex(rehearse.UsageError, "microbatch_size: expected a whole number from 1"):
            rehearse.cost(microbatch_size=0, **MODEL)

    def test_wrong_types(self):
        for wrong in (
            {"model": True},
            {"model": object()},
            {"model": ["gpt2", None]},
            {"microbatch_size": 1.5},
            {"microbatch_size": True},
            {"explain": 1},
            {"files": [3.5, {}]},
            {"progress": 3},
            {"stop": 3},
            {"threads": "many"},
            {"time_limit": "long"},
        ):
            with self.subTest(wrong), self.assertRaises(TypeError):
                rehearse.cost(**wrong)

    def test_wrong_values(self):
        for wrong in ({"model": "a\0b"}, {"threads": -1}, {"time_limit": -1.0}, {"time_limit": float("nan")}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                rehearse.cost(**wrong)
        with self.assertRaises(OverflowError):
            rehearse.cost(microbatch_size=1 << 64, **MODEL)

    def test_unknown_argument_names_the_nearest(self):
        with self.assertRaisesRegex(TypeError, r"cost\(\) got an unexpected keyword argument 'modle'; did you mean 'model'"):
            rehearse.cost(modle="gpt2")

    def test_twice_and_too_many(self):
        with self.assertRaisesRegex(TypeError, "two values for 'path'"):
            rehearse.profile_show("a", path="b")
        with self.assertRaisesRegex(TypeError, "at most one positional argument, found 2"):
            rehearse.profile_show("a", 2)

    def test_a_wrong_number_is_named(self):
        for name, wrong in (
            ("microbatch_size", 1.5),
            ("microbatch_size", 1 << 64),
            ("threads", "many"),
            ("threads", 1 << 64),
            ("time_limit", "long"),
        ):
            with self.subTest(name, wrong=wrong), self.assertRaisesRegex((TypeError, OverflowError), f"^{name}: expected .*, found"):
                rehearse.cost(**MODEL, **{name: wrong})

    def test_whole_numbers_of_other_types(self):
        class Four:  # as numpy's are
            def __index__(self):
                return 4

        made = rehearse.cost(model="gpt2-xl", devices="h100", microbatch_size=Four())
        self.assertEqual(made.microbatch_size, 4)
        plan = rehearse.plan(model="gpt2-xl", device="h100", devices=Four(), global_batch=[Four(), 8])
        self.assertEqual(plan["devices"].tolist(), [4, 4])

    def test_plans_given_twice(self):
        plan = rehearse.plan(model="gpt2-xl", device="h100", devices=1, global_batch=8)
        with self.assertRaisesRegex(TypeError, "two values for 'plan'"):
            rehearse.simulate(plan, plan="no-file.json")
        with self.assertRaisesRegex(TypeError, "two plans"):
            rehearse.simulate(plan, from_=plan)

    def test_names_of_the_version_before(self):
        new = rehearse.simulate(schedule="best", stages=4, microbatches=8, memory_limit=3)
        old = rehearse.simulate(schedule="best", stages=4, microbatches=8, memory=3)
        self.assertEqual(old.to_dict(), new.to_dict())
        with self.assertRaisesRegex(TypeError, "two values for 'memory_limit'"):
            rehearse.simulate(schedule="best", stages=4, microbatches=8, memory=3, memory_limit=3)

    def test_a_plan_beside_others(self):
        plan = rehearse.plan(model="gpt2-xl", device="h100", devices=1, global_batch=8)
        said = set()
        for call in (
            lambda: rehearse.elastic(plan, from_=plan, faults=1),
            lambda: rehearse.elastic(plan, plan, from_=None, faults=1),
            lambda: rehearse.elastic(from_=[plan, plan], faults=1),
        ):
            with self.assertRaises(rehearse.Error) as raised:
                call()
            said.add(str(raised.exception))
        self.assertEqual(len(said), 1)
        with self.assertRaisesRegex(TypeError, "from: expected the result of a rehearse call, found 'plan.json'"):
            rehearse.elastic(from_="plan.json")


class Help(unittest.TestCase):
    def test_every_command_is_a_function_with_its_options(self):
        for name in rehearse.commands():
            with self.subTest(name):
                function = getattr(rehearse, name)
                names = set(inspect.signature(function).parameters)
                for option in rehearse._rehearse.Command(rehearse._commands[name]).options:
                    self.assertIn(option["field"].rstrip("_"), {each.rstrip("_") for each in names})
                    self.assertIn(option["help"].split()[0], function.__doc__)
                self.assertLessEqual({"threads", "time_limit", "stop", "progress", "warning"}, names)

    def test_unknown_name(self):
        with self.assertRaisesRegex(AttributeError, "has no attribute 'weigh'"):
            rehearse.weigh
        self.assertIn("cost", dir(rehearse))
        with self.assertRaises(ValueError):
            rehearse._rehearse.Command("weigh")


class Errors(unittest.TestCase):
    def test_exception_by_code(self):
        for error, code, base in (
            (rehearse.Error, 1, Exception),
            (rehearse.UsageError, 2, ValueError),
            (rehearse.InputError, 3, ValueError),
            (rehearse.InfeasibleError, 4, rehearse.Error),
            (rehearse.StoppedError, 5, rehearse.Error),
        ):
            self.assertEqual(error.code, code)
            self.assertTrue(issubclass(error, base) and issubclass(error, rehearse.Error))

    def test_input(self):
        with self.assertRaisesRegex(rehearse.InputError, "^no-file: cannot open"):
            rehearse.profile_show("no-file")

    def test_name_that_is_no_text(self):
        with self.assertRaises(rehearse.InputError) as raised:
            rehearse.profile_show(b"no-\xff")
        str(raised.exception).encode()

    def test_unknown_form(self):
        with self.assertRaises(rehearse.UsageError):
            profile().write("no-form")

    def test_save_that_fails(self):
        with self.assertRaisesRegex(rehearse.Error, "no-folder"):
            profile().save("/no-folder/profile.json")


class Handles(unittest.TestCase):
    def test_frozen(self):
        made = profile()
        for name in ("model", "other"):
            with self.assertRaises(AttributeError):
                setattr(made, name, 1)
        with self.assertRaises(AttributeError):
            made.layers.name = 1
        with self.assertRaises(TypeError):
            rehearse.Profile()
        with self.assertRaises(TypeError):
            rehearse.Column()

    def test_values(self):
        made = profile()
        self.assertIsInstance(made, rehearse.Profile)
        self.assertEqual(made.kind, "profile")
        self.assertEqual(made["layers"], len(made["layers.name"]))
        self.assertEqual(made["layers.name"], made.layers.name)
        self.assertEqual(set(made), set(made.names))
        self.assertEqual(dict(made.layers).keys(), set(made.layers.keys()))
        self.assertIn("layers.name", made)
        self.assertNotIn("no value", made)
        self.assertIsNone(made.get("no value"))
        for wrong in ("no value", 3, None):
            with self.assertRaises(KeyError):
                made[wrong]
        with self.assertRaisesRegex(AttributeError, "this Profile has no 'weight'"):
            made.weight

    def test_a_name_that_is_no_text(self):
        made = profile()
        for wrong in ("model\0", "\ud800"):
            with self.assertRaises(KeyError):
                made[wrong]
            self.assertIsNone(made.get(wrong))

    def test_mappings(self):
        made = profile()
        for mapping in (made, made.layers):
            self.assertIsInstance(mapping, collections.abc.Mapping)
            self.assertEqual([name for name, _ in mapping.items()], mapping.keys())
            self.assertEqual(len(mapping.values()), len(mapping))
        self.assertEqual(made.layers.get("name"), made.layers.name)
        self.assertEqual(made.layers.get("no value", 3), 3)

    def test_a_copy_is_the_same(self):
        made = profile()
        for one in (made, made.layers, made.layers.parameters):
            self.assertIs(copy.copy(one), one)
            self.assertIs(copy.deepcopy([one])[0], one)

    def test_every_value_can_be_read(self):
        made = profile()
        for name in made:
            value = made[name]
            self.assertIsInstance(value, (int, float, bool, str, tuple, rehearse.Column, type(None)))

    def test_document_is_what_the_values_say(self):
        made = profile()
        document = made.to_dict()
        self.assertEqual(len(document["layers"]), made["layers"])
        self.assertEqual([layer["name"] for layer in document["layers"]], list(made.layers.name))

    def test_forms(self):
        made = profile()
        self.assertEqual(str(made), made.write())
        self.assertEqual(json.loads(made.write("json")), made.to_dict())
        self.assertIn("gpt2-xl", made._repr_html_() or made._repr_svg_())


class Columns(unittest.TestCase):
    def test_sequence(self):
        column = profile().layers.parameters
        self.assertEqual(len(column), column.shape[0])
        self.assertEqual(list(column), column.tolist())
        self.assertEqual(column[-1], column[len(column) - 1])
        self.assertEqual(column[1:3], column.tolist()[1:3])
        for wrong in (len(column), -len(column) - 1, 1 << 70):
            with self.assertRaises(IndexError):
                column[wrong]
        with self.assertRaises(TypeError):
            column["a"]

    def test_buffer_keeps_its_handle(self):
        view = memoryview(profile()["forward"])
        expected = profile()["forward"].tolist()
        self.assertTrue(view.readonly)
        self.assertEqual((view.ndim, view.format, view.itemsize), (2, "d", 8))
        self.assertEqual(view.tolist(), expected)

    def test_is_a_sequence(self):
        column = profile().layers.parameters
        self.assertIsInstance(column, collections.abc.Sequence)
        self.assertEqual(column.index(column[3]), column.tolist().index(column[3]))
        self.assertEqual(column.count(column[3]), column.tolist().count(column[3]))
        self.assertEqual(list(reversed(column)), column.tolist()[::-1])
        with self.assertRaises(ValueError):
            column.index(-1)

    def test_bytes_alone_have_one_dimension(self):
        table = profile()["forward"]
        self.assertEqual(hashlib.sha256(table).digest(), hashlib.sha256(memoryview(table).tobytes()).digest())

    def test_a_table_does_not_lie_in_the_order_of_fortran(self):
        get = ctypes.pythonapi.PyObject_GetBuffer
        get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
        strides, c_order, fortran, any_order = 0x18, 0x20, 0x40, 0x80
        table, view = profile()["forward"], ctypes.create_string_buffer(256)
        for order in (c_order, any_order):
            get(table, view, strides | order)
            ctypes.pythonapi.PyBuffer_Release(view)
        with self.assertRaises(BufferError):
            get(table, view, strides | fortran)

    def test_strides(self):
        view = memoryview(profile().layers.parameters)
        self.assertEqual(view.tolist(), profile().layers.parameters.tolist())
        if not view.contiguous:
            with self.assertRaises(BufferError):
                bytes_of = __import__("hashlib").sha256(profile().layers.parameters)
                del bytes_of

    def test_no_writing(self):
        with self.assertRaises((TypeError, BufferError)):
            memoryview(profile()["forward"])[0, 0] = 1

    def test_numpy_without_a_copy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy here")
        made = profile()
        one, two = numpy.asarray(made["forward"]), numpy.asarray(made["forward"])
        self.assertEqual(one.ctypes.data, two.ctypes.data)
        self.assertEqual(one.tolist(), made["forward"].tolist())
        expected = made.layers.parameters.tolist()
        strided = numpy.asarray(made.layers.parameters)
        del made
        self.assertEqual(strided.tolist(), expected)
        self.assertEqual(numpy.asarray(profile()["forward"], dtype="float32").dtype, numpy.float32)

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas here")
        made = profile()
        table = pandas.DataFrame(dict(made.layers))
        self.assertEqual(table["parameters"].tolist(), made.layers.parameters.tolist())
        self.assertEqual(str(table["parameters"].dtype), "int64")
        self.assertEqual(list(table["name"]), list(made.layers.name))


class Interpreters(unittest.TestCase):
    def test_a_second_interpreter_is_refused_and_breaks_nothing(self):
        program = """
import importlib
for name in ("_interpreters", "_xxsubinterpreters"):
    try:
        module = importlib.import_module(name)
        break
    except ImportError:
        pass
else:
    raise SystemExit("none")
import rehearse
other = module.create()
try:
    failed = module.run_string(other, "import rehearse")
except module.RunFailedError as error:
    failed = error
module.destroy(other)
made = rehearse.cost(model="gpt2-xl", devices="h100")
print("ImportError" in str(failed), type(made) is rehearse.Profile, "parameters" in made.layers)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        if done.stderr.strip() == "none":
            self.skipTest("this Python has no module for interpreters")
        self.assertEqual(done.stdout.strip(), "True True True", done.stderr)


class Threads(unittest.TestCase):
    def test_many_threads_read_and_make_the_same(self):
        made, expected, found = profile(), profile().write("json"), []

        def work():
            for _ in range(5):
                found.append(made.write("json") == expected == profile().write("json"))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 40)

    def test_a_requested_stop_ends_the_call(self):
        stop = rehearse.Stop()
        stop.request()
        with self.assertRaises(rehearse.StoppedError):
            rehearse.cost(stop=stop, **MODEL)

    def test_errors_in_other_threads(self):
        raised = []

        def work():
            try:
                rehearse.profile_show("no-file")
            except rehearse.InputError as error:
                raised.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertRegex(raised[0], "^no-file: ")


class Signals(unittest.TestCase):
    def test_an_exception_of_a_handler_comes_out_of_the_call(self):
        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm

        # The alarm comes before the call ends or after it; calls go on until it does.
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.assertRaises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            while True:
                profile()

    @unittest.skipUnless("plan" in rehearse.commands(), "the library does not plan yet")
    def test_a_call_of_minutes_is_stopped(self):
        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm

        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaises(Alarm):
            rehearse.plan(model="llama-3.1-405b", device="h100", devices="1024..16384+64", global_batch="512..4096+64")

    @unittest.skipUnless("plan" in rehearse.commands(), "the library does not plan yet")
    def test_a_handler_that_does_not_raise_stops_nothing(self):
        handled = []
        before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        made = rehearse.plan(model="llama-3-70b", device="h100", devices=64, global_batch="64..512+64")
        self.assertTrue(made.write("json"))
        self.assertEqual(handled, [1])

    @unittest.skipUnless("plan" in rehearse.commands(), "the library does not plan yet")
    def test_interrupt_ends_every_long_call(self):
        """Each takes many seconds. The signal of a timer stands for Ctrl-C, so that it comes in the middle of a call."""
        program = """
import signal, sys, tempfile, rehearse
signal.signal(signal.SIGALRM, signal.default_int_handler)
job = rehearse.plan(model="llama-3-70b", device="h100", devices=512, global_batch=4096)
with tempfile.TemporaryDirectory() as folder:
    for call in (
        lambda: rehearse.plan(model="llama-3.1-405b", device="h100", devices="1024..16384+64", global_batch="512..4096+64"),
        lambda: rehearse.sweep(model="llama-3-70b", device="h100", devices="64..2048+64", global_batch="256..4096+256"),
        lambda: rehearse.simulate(job, no_symmetry=True, level="layers"),
        lambda: rehearse.simulate(job, no_symmetry=True, level="layers").tasks,
        lambda: rehearse.simulate(schedule="zb-v", stages=512, microbatches=10000),
        lambda: rehearse.simulate(compare=True, stages=64, microbatches=5000),
        lambda: rehearse.elastic(nodes=2048, mtbf="50000h", seeds=5000),
        lambda: rehearse.validate(best=True),
        lambda: rehearse.validate(simulate=True),
        lambda: rehearse.calibrate(known=True),
        lambda: rehearse.dataset_generate("unet3d_h100", output=folder, data_size="50 GB"),
        lambda: [job.write("json") for _ in range(1000000)],
    ):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            call()
        except KeyboardInterrupt:
            print("stopped")
"""
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((said.stdout.split(), said.stderr), (["stopped"] * 12, ""))

    def test_a_forked_child_calls(self):
        profile()
        child = os.fork()
        if child == 0:
            os._exit(0 if profile()["layers"] > 0 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_interrupt_ends_the_program_as_it_ends_others(self):
        program = "import rehearse\nprint(flush=True)\nwhile True: rehearse.cost(model='gpt2-xl', devices='a100')\n"
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with child:
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
        self.assertIn(b"KeyboardInterrupt", said)
        self.assertEqual(child.returncode, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
