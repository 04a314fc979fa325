"""Functions of commands: signature and help from the library's tables of options."""

import datetime
import inspect
import keyword
import numbers
import os
import re
import textwrap
from collections.abc import Mapping

import rehearse

# What every call takes besides the options of its command.
CALL = {
    "threads": ("int", "threads to use; 0: one per processor; the result does not depend on it"),
    "time_limit": ("float", "seconds after which the best answer so far is returned, with its gap; 0 is no limit"),
    "stop": ("rehearse.Stop", "ends the call from another thread"),
    "progress": ("Callable[[str, str], object]", "called with the current step and its progress"),
    "warning": ("Callable[[str], object]", "called with each warning; without it warnings.warn is"),
}
# What is not needed to play a run again, for its tasks.
WRITTEN = ("tasks", "page", "trace", "chakra", "figure", "style", "write_schedule", "with_sends", "letters", "keep_tasks", "warning", "progress", "stop")
# Of a range of Python.
RANGE_LIMIT = 1 << 16
TYPES = {"?": "bool", "q": "int", "d": "float", "s": "str", "l": "list of str", "h": "handle", "H": "list of handles"}


def python_name(field):
    """The name of an argument: fields that are words of Python get a low line."""
    return field + "_" if keyword.iskeyword(field) else field


def own_options(options):
    """The rows of CALL that are not options of the command."""
    fields = {option["field"] for option in options}
    return {name: row for name, row in CALL.items() if name not in fields}


def signature(options):
    """All arguments, which have None for what is not given."""
    names = [python_name(option["field"]) for option in options]
    kinds = [inspect.Parameter.KEYWORD_ONLY] * len(names)
    if names:
        is_list = options[0]["type"] == "l"
        kinds[0] = inspect.Parameter.POSITIONAL_OR_KEYWORD if not is_list else inspect.Parameter.KEYWORD_ONLY
    names += own_options(options)
    kinds += [inspect.Parameter.KEYWORD_ONLY] * (len(names) - len(kinds))
    parameters = [inspect.Parameter(name, kind, default=None) for name, kind in zip(names, kinds)]
    if options and options[0]["type"] == "l":
        parameters.insert(0, inspect.Parameter("operands", inspect.Parameter.VAR_POSITIONAL))
    return inspect.Signature(parameters)


def describe(option):
    """A paragraph on one option."""
    head = f"{python_name(option['field'])}: {TYPES[option['type']]}"
    if option["required"]:
        head += ", required"
    text = option["help"] or ""
    if option["words"]:
        text += " (" + ", ".join(option["words"]) + ")"
    if option["initial"] and option["initial"] != "0":
        text += f" (default: {option['initial']})"
    return head + "\n" + textwrap.indent(textwrap.fill(" ".join(text.split()), 100), "    ")


def document(name, options):
    """The help of a command: a paragraph for each option."""
    lines = [f"As the command 'rehearse {name}'; None is the default of every option."]
    lines += ["", *(describe(option) for option in options)]
    for field, (kind, text) in own_options(options).items():
        lines.append(f"{field}: {kind}\n    {text}")
    return "\n".join(lines)


def unexpected(command, name, names):
    """The message for an argument that a command does not have."""
    import difflib

    text = f"{command.replace(' ', '_').replace('-', '_')}() got an unexpected keyword argument '{name}'"
    near = difflib.get_close_matches(name, [*map(python_name, names), *CALL], 1)
    return f"{text}; did you mean '{near[0]}'?" if near else text


def warn(text):
    """What a warning of the library becomes if the caller does not take it."""
    import warnings

    warnings.warn(text, UserWarning, stacklevel=4)


def as_option(value, kind):
    """A value as the library takes it: times as text with a unit, 8.0 as 8, {"tp": 8} as "tp=8"."""
    if isinstance(value, datetime.timedelta):
        seconds = value.total_seconds()
        return seconds if kind == "-" else f"{int(seconds) if seconds == int(seconds) else seconds}s"
    if kind in "slq" and isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return int(value) if value == value // 1 else value
    if kind not in "sl" or isinstance(value, (str, bytes, rehearse.Handle, rehearse.Table)):
        return value
    if isinstance(value, Mapping):
        return [f"{key}={setting(key, one)}" for key, one in value.items()]
    if isinstance(value, range) and len(value) > RANGE_LIMIT:
        raise ValueError(f"expected a range of at most {RANGE_LIMIT} values, found {value!r}")
    return [as_option(one, kind) for one in value] if isinstance(value, (list, tuple, range)) else value


def setting(key, value):
    """The text of one value of a mapping."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (str, numbers.Real, os.PathLike)):
        raise TypeError(f"{key}: expected a number, a text or True or False, found {value!r}")
    return os.fspath(value) if isinstance(value, os.PathLike) else as_option(value, "s")


def words_of(option):
    """How a command line has an option."""
    names = [f"--{option['name']}"] + [f"--{option['was']}"] * bool(option["was"]) + [f"-{option['letter']}"] * bool(option["letter"])
    return dict.fromkeys(names, option)


def argument(option, value):
    """An option as the argument of a call, with what stands behind it in a message."""
    name = python_name(option["field"])
    if option["type"] == "?":
        return f"{name}=True" + (f" {value}" if value else "")
    placeholder = re.fullmatch(r"[A-Z][A-Z_…]*|-?\d+(\.\d+)?", value)
    return f"{name}={value if placeholder else repr(value)}" if value else name


def call(found):
    """A command line in a message as a call."""
    words = found[2].split()
    if words[0] == "help" and len(words) > 1:
        return f"help(rehearse.{words[1].replace('-', '_')})"
    count = next((count for count in (2, 1) if "_".join(words[:count]).replace("-", "_") in rehearse.commands()), 0)
    if not count:
        return found[0]
    if found[1]:  # several processes
        return f"'{found[1]}python SCRIPT'"
    name = "_".join(words[:count]).replace("-", "_")
    known = {one: option for option in rehearse._rehearse.Command(" ".join(words[:count])).options for one in words_of(option)}
    arguments, words = [], [word for word in words[count:] if word != "--"]
    while words:
        option = known.get(words[0])
        takes = option and option["type"] != "?" and len(words) > 1
        arguments.append(repr(words[0]) if not option else argument(option, words[1] if takes else "") + ("" if takes or option["type"] == "?" else "=…"))
        words = words[1 + bool(takes) :]
    return f"rehearse.{name}({', '.join(arguments)})"


def in_python(text, options):
    """A message of the library that names options as arguments: `force=True` and not `--force`."""
    if re.match(r"[^:]+:\d+: ", text):  # about a line of a file, whose options are those of other software
        return text
    known = {name: option for option in options for name, option in words_of(option).items()}

    def alone(found):
        option, value = known.get(found[1]), found[3] or ""
        if not option:
            return found[0]
        is_value = re.search(r"[A-Z0-9=./]", value) or value in (option["words"] or ())
        if option["type"] == "?" or not is_value:
            return argument(option, "") + (found[2] or "") + value
        return argument(option, value)

    def quoted(found):
        option = known.get(found[1])
        return argument(option, found[2] or "") if option else found[0]

    text = re.sub(r"'((?:\w+ -[nN] \d+ )?)rehearse ([^']+)'", call, text)
    text = re.sub(r"(?<=plan with )'--([a-z-]+) ([^']+)'", lambda found: f"{found[1].replace('-', '_')}={found[2]!r}", text)
    text = re.sub(r"'(--?[a-zA-Z][\w-]*)(?:[ =]([^']+))?'", quoted, text)
    text = re.sub(r"(?<![^\s(,])(--?[a-zA-Z][\w-]*)(?:([ =])([^\s,;:()']+))?", alone, text)
    first, colon, rest = text.partition(": ")
    return python_name(known[f"--{first}"]["field"]) + colon + rest if colon and f"--{first}" in known else text


def function(name, command):
    """The function that calls a command."""
    options = command.options
    renamed = {python_name(option["field"]): option["field"] for option in options if keyword.iskeyword(option["field"])}
    # Names of the version before.
    renamed |= {python_name(option["was"].replace("-", "_")): option["field"] for option in options if option["was"]}

    fields = [option["field"] for option in options]
    kinds = {option["field"]: option["type"] for option in options}
    takes_plans = "plan" in fields and any(option["field"] == "from" and option["type"] == "h" for option in options)

    takes_many = any(option["field"] == "from" and option["type"] == "H" for option in options)

    def call(*operands, **given):
        given.setdefault("warning", warn)
        if given["warning"] and callable(given["warning"]):
            given["warning"] = lambda text, tell=given["warning"]: tell(in_python(text, options))
        for argument in renamed.keys() & given.keys():
            if given.get(renamed[argument]) is not None:
                raise TypeError(f"{name}() got two values for '{renamed[argument]}'")
            given[renamed[argument]] = given.pop(argument)
        # A plan by its file, or the plan itself.
        if takes_plans and operands and fields[0] == "plan":
            if given.get("plan") is not None:
                raise TypeError(f"{name}() got two values for 'plan'")
            given["plan"], operands = operands[0], operands[1:]
        if takes_plans and isinstance(given.get("plan"), rehearse.Handle):
            if given.get("from") is not None:
                raise TypeError(f"{name}() got two plans, 'plan' and 'from_'")
            given["from"] = given.pop("plan")
        # Plans among files.
        plans = [one for one in operands if isinstance(one, rehearse.Handle)]
        if takes_many and plans:
            others = given.get("from")
            others = [others] if isinstance(others, rehearse.Handle) else others or []
            given["from"] = [*others, *plans]
            operands = [one for one in operands if not isinstance(one, rehearse.Handle)]
        try:
            operands = [as_option(value, kinds.get(fields[0], "s")) for value in operands] if fields else operands
            given = {field: as_option(value, kinds.get(field, "-")) for field, value in given.items()}
            answer = command(*operands, **given)
            if isinstance(answer, rehearse._handles.Simulated):
                again = {field: value for field, value in given.items() if field not in WRITTEN}
                answer._again = lambda **more: command(*operands, **again, **more, warning=lambda text: None)
            return answer
        except rehearse.Error as error:
            error.args = (in_python(str(error), options),)
            raise

    call.__name__ = call.__qualname__ = name
    call.__module__ = "rehearse"
    call.__doc__ = document(name.replace("_", " "), options)
    call.__signature__ = signature(options)
    return call
