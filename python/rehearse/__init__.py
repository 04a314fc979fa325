"""Rehearse a training run before paying for it.

There is one function for each command of ``rehearse``, with the command's options as keyword arguments::

    import rehearse

    profile = rehearse.cost(model="gpt2-xl", devices=["a100", "h100"])
    print(profile)                 # what the command prints
    profile["forward"]             # a column: numpy.asarray() reads it without a copy
    profile.layers.parameters      # the same as profile["layers.parameters"]
    profile.save("profile.json")   # what the command writes

What a function returns is frozen, and any number of threads may read it. A function that fails raises an exception by
the exit code of the command: UsageError, InputError, InfeasibleError, or Error for all else. ``help(rehearse.cost)`` shows
the options; ``rehearse.commands()`` has the names of all functions.
"""

from rehearse import _handles, _rehearse
from rehearse._handles import Cluster, Explorer, Figure, Handle, Table
from rehearse._rehearse import (
    Column,
    Error,
    InfeasibleError,
    InputError,
    Stop,
    StoppedError,
    UsageError,
)

__version__ = _rehearse.version

_commands = {name.replace(" ", "_").replace("-", "_"): name for name in _rehearse.commands()}


def commands():
    """The names of all functions that are commands."""
    return list(_commands)


def from_torch(module, inputs, name="torch"):
    """A PyTorch module as StableHLO text: saved as a .mlir file, ``rehearse.cost`` prices it. See rehearse.torch."""
    from rehearse.torch import from_torch as convert

    return convert(module, inputs, name)


def explorer(height=900, **job):
    """The planner as a page in a cell: change the question, and the answer follows, without a server.

    It begins with the plan of `job`, the arguments of rehearse.plan. `height` is in pixels."""
    given = {"model": "llama-3-70b", "device": "h100", "devices": 64, "global_batch": 512, **job}
    return _handles.Explorer(__getattr__("plan")(**given), height)


# A command, and the class of an answer, are made when they are first asked for: an import has to be quick.
def __getattr__(name):
    if name in _commands:
        from rehearse import _options

        made = _options.function(name, _rehearse.Command(_commands[name]))
    else:
        made = _handles.class_named(name) if name[:1].isupper() else None
        if made is None:
            raise AttributeError(f"module 'rehearse' has no attribute '{name}'")
    globals()[name] = made
    return made


def __dir__():
    return sorted({*globals(), *_commands, *_handles.class_names()})


__all__ = [
    "Cluster",
    "Column",
    "Error",
    "Explorer",
    "Figure",
    "Handle",
    "InfeasibleError",
    "InputError",
    "Plan",
    "Profile",
    "Stop",
    "StoppedError",
    "Table",
    "UsageError",
    "commands",
    "explorer",
    "from_torch",
    *_commands,
]
