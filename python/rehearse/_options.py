"""Functions of commands: signature and help from the library's tables of options."""

import inspect
import keyword
import textwrap

import rehearse

# What every call takes besides the options of its command.
CALL = {
    "threads": ("int", "threads to use; 0: one per processor; the result does not depend on it"),
    "time_limit": ("float", "seconds after which the best answer so far is returned, with its gap; 0 is no limit"),
    "stop": ("rehearse.Stop", "ends the call from another thread"),
    "progress": ("Callable[[str, str], object]", "called with the current step and its progress"),
    "warning": ("Callable[[str], object]", "called with each warning; without it warnings.warn is"),
}
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

    warnings.warn(text, UserWarning, stacklevel=3)


def function(name, command):
    """The function that calls a command."""
    options = command.options
    renamed = {python_name(option["field"]): option["field"] for option in options if keyword.iskeyword(option["field"])}
    # Names of the version before.
    renamed |= {python_name(option["was"].replace("-", "_")): option["field"] for option in options if option["was"]}

    fields = [option["field"] for option in options]
    takes_plans = "plan" in fields and any(option["field"] == "from" and option["type"] == "h" for option in options)

    takes_many = any(option["field"] == "from" and option["type"] == "H" for option in options)

    def call(*operands, **given):
        given.setdefault("warning", warn)
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
        return command(*operands, **given)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "rehearse"
    call.__doc__ = document(name.replace("_", " "), options)
    call.__signature__ = signature(options)
    return call
