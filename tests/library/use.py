"""What a program in Python does with the package, for valgrind and sanitizers: tests/library/valgrind runs it."""

import os
import signal
import tempfile
import threading

import rehearse

MODEL = {"model": "gpt2", "devices": "h100"}


def refused(error, function, *given, **named):
    try:
        function(*given, **named)
    except error:
        return
    raise SystemExit(f"no {error.__name__} of {function}")


def alarmed(*_):
    raise InterruptedError


def use():
    profile = rehearse.cost(**MODEL, threads=2)
    view = memoryview(profile["forward"])
    names, sizes = profile.layers.name, profile.layers.parameters
    del profile
    assert view.shape == (1, 14) and len(names) == len(sizes) == sizes.shape[0] == 14
    assert [*sizes] == sizes.tolist() == memoryview(sizes).tolist() and sizes[-3:] == sizes.tolist()[-3:]
    plan = rehearse.plan(model="gpt2", device="h100", devices="1,2", global_batch=[8, 16], progress=lambda *_: None)
    for name, value in plan.items():
        assert repr(value), name
    for form in plan.forms:
        plan.write(form)
    with tempfile.TemporaryDirectory() as folder:
        plan.save(os.path.join(folder, "plan.json"))
    simulated = rehearse.simulate(rehearse.plan(model="gpt2", device="h100", devices=1, global_batch=8))
    assert simulated.makespan > 0

    refused(rehearse.UsageError, rehearse.cost, model="no such model", devices="h100")
    refused(rehearse.UsageError, plan.write, "no form")
    refused(TypeError, rehearse.cost, modle="gpt2")
    refused(TypeError, rehearse.cost, model=["gpt2", None])
    refused(ZeroDivisionError, rehearse.plan, model="gpt2", device="h100", devices="1,2", global_batch=8, progress=lambda *_: 1 / 0)
    stop = rehearse.Stop()
    stop.request()
    refused(rehearse.StoppedError, rehearse.cost, **MODEL, stop=stop)


use()
threads = [threading.Thread(target=use) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# A signal's handler that raises while a text is written, which takes some tenths of a second here.
signal.signal(signal.SIGALRM, alarmed)
profile = rehearse.cost(model="llama-3-8b", devices=["h100", "a100"])
for _ in range(2):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while True:
            profile.write("json")
    except InterruptedError:
        pass
