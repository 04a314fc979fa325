"""Results of calls: the handles of the library, with Python conveniences."""

import json
import keyword
import os
import re
from collections.abc import Mapping, Sequence

from rehearse import _rehearse

# What docs/schema/ says of each answer, by the name of its format; it is read when the first one is made or asked about.
_answers = None
_classes = {}


def as_array(column, dtype=None, copy=None):
    """Column.__array__: numpy's view of a column."""
    import numpy

    array = numpy.asarray(memoryview(column))
    return numpy.array(array, dtype=dtype) if copy or (dtype is not None and dtype != array.dtype) else array


class Table:
    """The values of a handle whose names begin alike: ``plan.stages`` has those of "stages.forward" and so on.

    It is a mapping of columns, so that ``pandas.DataFrame(dict(plan.stages))`` is a table of them.
    """

    # No __slots__: IPython completes an attribute that it has not asked for by an object of its own, whose class it sets.
    _described = {}  # {attribute: key}; "a." is the table of a key that is a single value, too

    @staticmethod
    def _other():
        """The class of the maps of any other name."""
        return Table

    def __init__(self, handle, prefix):
        object.__setattr__(self, "_handle", handle)
        object.__setattr__(self, "_prefix", prefix)

    def __setattr__(self, name, value):
        raise AttributeError("the result of a call cannot be changed")

    def keys(self):
        """The names of the columns, without their common prefix."""
        start = self._prefix + "."
        return [name[len(start) :] for name in self._handle.names if name.startswith(start)]

    def values(self):
        """The columns."""
        return [self[name] for name in self.keys()]

    def items(self):
        """The names and their columns."""
        return [(name, self[name]) for name in self.keys()]

    def get(self, name, default=None):
        """The column of this name, or the default where there is none."""
        return self[name] if name in self else default

    def __getitem__(self, name):
        return self._handle[f"{self._prefix}.{name}"]

    def __getattr__(self, name):
        if name in ("_handle", "_prefix"):  # not made by a handle
            raise AttributeError(name)
        return _attribute(self, *self._place(name), self._other())

    def __arrow_c_array__(self, requested_schema=None):
        """The rows for Arrow, as one array of structs. What is not known is null, and what a row has several of is a list."""
        from rehearse import _arrow

        return _arrow.array(self, requested_schema)

    def __arrow_c_schema__(self):
        """The types of the columns, for Arrow."""
        from rehearse import _arrow

        return _arrow.schema(self)

    def __arrow_c_stream__(self, requested_schema=None):
        """The rows for Arrow: pyarrow.table(plan.stages)."""
        from rehearse import _arrow

        return _arrow.stream(self, requested_schema)

    def to_polars(self):
        """The rows as a polars.DataFrame."""
        import polars
        from rehearse import _arrow

        return polars.DataFrame(_arrow.Rows(self))

    def to_pandas(self):
        """The rows as a pandas.DataFrame; what a row has several of is a list."""
        import pandas
        from rehearse import _arrow

        return pandas.DataFrame(dict(_arrow.columns(self)))

    def _place(self, name):
        return self._handle, f"{self._prefix}.{name}"

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def __contains__(self, name):
        return f"{self._prefix}.{name}" in self._handle.names

    def __dir__(self):
        return _listed(self, super().__dir__(), self.keys()) if hasattr(self, "_handle") else sorted({*super().__dir__(), *self._described})

    def _repr_html_(self):
        from rehearse import _html

        return f'<div style="overflow-x: auto">{_html.table_of(self)}</div>'

    # What never changes is its own copy.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<rehearse.Table {self._prefix}: {', '.join(self.keys())}>"


def _attribute(owner, handle, name, table=Table, is_map=False):
    """The value of that name, or a table where names begin with it: also instead of a number, which is its length, and of a column where
    a map is expected, which some rows do not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    start = name + "."
    value = handle[name] if name in handle.names else None
    if table and (value is None or type(value) is int or is_map) and any(other.startswith(start) for other in handle.names):
        return table(handle, name)
    if name not in handle.names:
        raise AttributeError(f"this {type(owner).__name__} has no '{name}'")
    return value


def _hidden(handle, name, table):
    """The table of a name that has a single value, too."""
    if not any(other.startswith(name + ".") for other in handle.names):
        raise AttributeError(name)
    return table(handle, name)


def _listed(owner, attributes, names):
    """What dir() shows: values that this answer lacks are left out, and those that nothing describes are there."""
    tables = {name.split(".")[0] for name in names if "." in name}
    there = {*names, *tables, *(table + "." for table in tables)}
    lacking = {attribute for attribute, key in owner._described.items() if key not in there}
    others = {name for name in there if name.isidentifier()} - set(owner._described.values())
    return sorted({*attributes, *others} - lacking)


class Handle(_rehearse.Handle):
    """The result of a call: values by name, and texts in every form. It never changes."""

    __slots__ = ()
    _described = {}

    def __getattr__(self, name):
        return _attribute(self, *self._place(name))

    def _place(self, name):
        return self, name

    def keys(self):
        """The names of all values."""
        return list(self.names)

    def values(self):
        """All values."""
        return [self[name] for name in self.names]

    def items(self):
        """The names and their values."""
        return [(name, self[name]) for name in self.names]

    def get(self, name, default=None):
        """The value of this name, or the default where there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)

    def __bool__(self):
        return True

    def __contains__(self, name):
        return name in self.names

    def __dir__(self):
        return _listed(self, super().__dir__(), self.names)

    # What never changes is its own copy.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __str__(self):
        return self.write("text")

    def __repr__(self):
        name = self.get("model") or (self.kind if type(self) is Handle else None)
        return f"<rehearse.{type(self).__name__}: {f'{name}, ' if name else ''}{len(self)} values>"

    def to_dict(self):
        """The document that the command prints with --json."""
        return json.loads(self.write("json"))

    def _page(self):
        """Its page; None: it has none."""
        try:
            return self.write("page") if "page" in self.forms else None
        except _rehearse.Error:  # nothing to show is no reason to fail
            return None

    def _picture(self):
        """An HTML picture for where scripts are not trusted; "": none."""
        return ""

    def _repr_html_(self):
        """What Jupyter shows: the page, or tables."""
        from rehearse import _html

        page = self._page()
        return _html.page_cell(_html.without_planner(page), picture=self._picture()) if page else _html.answer(self)


PAGE_LIMIT = 100000  # tasks of a run that is played again for its page and picture


class Simulated(Handle):
    """What simulate answers. Tasks are kept where `keep_tasks` was given, and a timeline is in the page of `page`: else the run is
    played again for them, without the files that it wrote."""

    __slots__ = ("_again", "_kept")

    def __getattr__(self, name):
        if name in Simulated.__slots__:  # not set
            raise AttributeError(name)
        return super().__getattr__(name)

    def _page(self):
        if not hasattr(self, "_again") or max(self.get("tasks", 0), self.get("passes", 0)) > PAGE_LIMIT:
            return super()._page()
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            try:
                self._again(page=path)
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    return file.read()
            except (_rehearse.Error, OSError):  # its files are gone
                return super()._page()


class Played(Simulated):
    """A run that was played, with its tasks."""

    __slots__ = ()

    def _place(self, name):
        return (self._with_tasks() if name == "tasks" else self), name

    def _with_tasks(self):
        if "tasks.begin" not in self.names and not hasattr(self, "_kept") and hasattr(self, "_again"):
            made = self._again(keep_tasks=True)
            if made.write("json") != self.write("json"):
                raise _rehearse.Error("tasks: the files that this run was made from have changed since: call simulate again")
            self._kept = made
        return getattr(self, "_kept", self)

    def _picture(self):
        from rehearse import _html

        if max(self.get("tasks", 0), self.get("passes", 0)) > PAGE_LIMIT:
            return ""
        title = f"Timeline of {self.schedule}"
        try:
            svg = _html.timeline(self.tasks, title)
        except _rehearse.Error:  # its files are gone
            svg = None
        return _html.image(svg, title) if svg else ""

    def __dir__(self):
        return sorted({*super().__dir__(), "tasks"} - ({"tasks"} if "tasks.begin" not in self.names and not hasattr(self, "_again") else set()))


class Cluster(Handle):
    """Devices, nodes and links."""

    __slots__ = ()


class Plan(Handle):
    """A pipeline, a training job, or a fleet of pipelines."""

    __slots__ = ()

    def __getattr__(self, name):
        if name in SETTINGS:  # its property has failed
            raise AttributeError(f"'{name}' is not one number for all stages of this plan: see 'stages' and 'pipelines'")
        if name == "arguments":
            raise AttributeError("this plan has no 'arguments': ask for them with emit=")
        if name in TRAINING:
            raise AttributeError(f"this plan has no '{name}': ask for it with tokens=" + " and price=" * (name == "price"))
        return super().__getattr__(name)

    def _same(self, *names):
        """The product of what is the same in all stages, or pipelines; AttributeError where it is not."""
        made = 1
        for name in names:
            values = set(self[name]) if name in self.names else set()
            if len(values) != 1:
                raise AttributeError(name)
            made *= values.pop()
        return made

    def _budget(self, name, unit):
        """A number of the training on all tokens, in a unit; AttributeError where the plan was asked for no tokens, or no price."""
        value = self.get("budget." + name)
        if value is None:
            raise AttributeError(name)
        return value / unit

    def _pp(self):
        return self._same("pipelines.stages") // max(self["chunks"], 1)

    def __dir__(self):
        return sorted({*super().__dir__()} - {name for name in (*SETTINGS, *TRAINING, "arguments") if not hasattr(self, name)})

    @property
    def arguments(self):
        """The arguments or the file of the software that `emit` names."""
        try:
            return self.write("emit")
        except _rehearse.UsageError:
            raise AttributeError("this plan has no 'arguments': ask for them with emit=") from None

    def __str__(self):
        return getattr(self, "arguments", None) or super().__str__()

    def __repr__(self):
        arguments = getattr(self, "arguments", None)
        return super().__repr__() if arguments is None else f"{super().__repr__()[:-1]}, arguments:\n{arguments}>"

    def figure(self, path):
        """Draws the plan into a file, as ``rehearse plan --figure`` does; that needs gnuplot."""
        import rehearse

        rehearse.plan(from_=self, figure=path)


# The settings of `fix`, as attributes of a plan whose stages are alike: how each is found, and its meaning.
SETTINGS = {
    "tp": (lambda plan: plan._same("stages.tensor"), "tensor parallel degree"),
    "cp": (lambda plan: plan._same("stages.context"), "context parallel degree"),
    "ep": (lambda plan: plan._same("stages.expert"), "expert parallel degree"),
    "pp": (Plan._pp, "pipeline stages"),
    "dp": (lambda plan: plan._same("pipelines.copies", "stages.data"), "data parallel degree"),
    "vp": (lambda plan: plan["chunks"], "chunks of each device"),
    "mbs": (lambda plan: plan["microbatch"], "samples of a micro-batch; 0: not known"),
    "zero": (lambda plan: plan["sharding"], "ZeRO stage; -1: not known"),
}
# The training on all tokens, as attributes of a plan that was asked for it: how each is found, its unit and meaning.
TRAINING = {
    "days": (lambda plan: plan._budget("seconds", 86400), "d", "time of the whole training, by formula"),
    "price": (lambda plan: plan._budget("dollars", 1), "USD", "price of the whole training"),
    "energy": (lambda plan: plan._budget("watt_hours", 1000), "kWh", "energy of the boards in the whole training, at their limits all the time"),
}
for _name, (_get, _meaning) in SETTINGS.items():
    setattr(Plan, _name, property(_get, doc=f"{_meaning} [1]"))
for _name, (_get, _unit, _meaning) in TRAINING.items():
    setattr(Plan, _name, property(_get, doc=f"{_meaning} [{_unit}]"))


class Figure(Handle):
    """A picture."""

    __slots__ = ()

    def __str__(self):
        return repr(self)

    def __repr__(self):
        return f"<rehearse.Figure: {len(self.write('svg'))} characters of SVG>"

    def save(self, path, form="svg"):
        """Writes the picture into a file."""
        super().save(path, form)

    def _repr_svg_(self):
        return self.write("svg")

    def _repr_html_(self):
        return None


class Explorer:
    """The planner as a page in a cell: rehearse.explorer()."""

    def __init__(self, plan, height):
        self.plan = plan
        self.height = height

    def __repr__(self):
        return f"<rehearse.Explorer: {self.plan!r}>"

    def save(self, path):
        """Writes the page into a file."""
        self.plan.save(path, "page")

    def _repr_html_(self):
        from rehearse import _html

        return _html.page_cell(_html.planner_first(self.plan.write("page")), self.height)


def attribute_name(key, base):
    """The attribute of a key: Python's own words, and the names of methods, get a low line."""
    name = re.sub(r"\W", "_", key)
    return name + "_" if keyword.iskeyword(name) or hasattr(base, name) else name


def described(value, is_list=False):
    """The type and the documentation of a value: ("float", "seconds … [s]"). Those of a list of answers are columns."""
    kind, unit, meaning = value
    meaning = re.sub(r"\bnull\b", "None", meaning)
    if kind.endswith("?") and "None" not in meaning:
        meaning += "; None: not known"
    if is_list:
        kind = kind if kind in ("column", "texts", "any") else "texts" if kind in ("str", "text") else "column"
    return kind, f"{meaning} [{unit}]" if unit else meaning


def _table_of(value, name, is_list):
    """The class of a map of values; a single value has none of its own."""
    return Table if isinstance(value, list) else _with_values(type(name, (Table,), {}), value, is_list)


def _property(key, value, name, is_list):
    if isinstance(value, list):
        return property(lambda self: _attribute(self, *self._place(key), None), doc=described(value, is_list)[1])
    table = _table_of(value, name, is_list)
    if "key" in value:
        return _TableProperty(table, lambda self: _hidden(*self._place(key), table), value["doc"])
    return _TableProperty(table, lambda self: _attribute(self, *self._place(key), table, True), value["doc"])


# For IPython, which asks no property for a value before it completes.
ANNOTATIONS = {"float": float, "int": int, "bool": bool, "str": str, "text": str, "column": _rehearse.Column, "texts": tuple}


def _annotation(made, value, is_list):
    return made.table if isinstance(made, _TableProperty) else ANNOTATIONS.get(described(value, is_list)[0].rstrip("?"), object)


class _TableProperty(property):
    """Of a map of values, whose class it knows."""

    def __init__(self, table, get, doc):
        super().__init__(get, doc=doc)
        self.table = table


def _with_values(made, value, is_list=False):
    """The class, with a property for each value that is described."""
    base = made.__base__
    made.__doc__ = made.__doc__ if made.__doc__ != base.__doc__ else value["doc"]
    made._described = {}
    made.__annotations__ = {}
    for key, inner in value["of"].items():
        if key != "*":
            name, place = attribute_name(key, base), key if isinstance(inner, list) else inner.get("key", key)
            made._described[name] = place if place == key else place + "."
            setattr(made, name, _property(place, inner, f"{made.__name__}.{name}", is_list))
            made.__annotations__[name] = _annotation(getattr(made, name), inner, is_list)
    if "*" in value["of"] and base is Table:
        other = _table_of(value["of"]["*"], made.__name__, is_list)
        made._other = staticmethod(lambda: other)
    return made


def answers():
    """What is known of each answer."""
    global _answers
    if _answers is None:
        with open(os.path.join(os.path.dirname(__file__), "_answers.json"), encoding="utf-8") as file:
            _answers = json.load(file)
    return _answers


def class_of(format_name, is_list=False):
    """The class of the answers of a format, or of lists of them; Handle where none is known."""
    if (format_name, is_list) not in _classes:
        answer = answers().get(format_name)
        made = Handle
        if answer and is_list:
            made = _with_values(type(answer["class"] + "List", (Handle,), {"__slots__": (), "__module__": "rehearse"}), answer, True)
        elif answer:
            tasks = answer["of"].get("tasks")
            is_simulated = any(name == "simulate" for name, _ in answer["commands"])
            base = Played if isinstance(tasks, dict) and "begin" in tasks["of"] else Simulated if is_simulated else Handle
            made = {"Plan": Plan}.get(answer["class"]) or type(answer["class"], (base,), {"__slots__": (), "__module__": "rehearse"})
            made = _with_values(made, answer)
        _classes[format_name, is_list] = made
    return _classes[format_name, is_list]


def class_names():
    """{name of a class: what class_of takes}."""
    return {answer["class"] + "List" * is_list: (format_name, bool(is_list))
            for format_name, answer in answers().items() for is_list in range(answer["lists"] + 1)}


def class_named(name):
    """The class of this name, or None."""
    return class_of(*class_names()[name]) if name in class_names() else None


def _choose(kind, start):
    """The class of a handle, by the beginning of its document where it is a report."""
    if kind == "figure":
        return Figure
    if not start:
        return Handle if kind in ("report", "sweep") else class_of(kind)
    before, _, name = start.partition('"format": "rehearse-')
    return class_of(name.partition("/")[0], before.lstrip().startswith("["))


_rehearse.register(_choose)
Mapping.register(Handle)
Mapping.register(Table)
Sequence.register(_rehearse.Column)
