"""Results of calls: the handles of the library, with Python conveniences."""

from collections.abc import Mapping, Sequence

from rehearse import _rehearse


def as_array(column, dtype=None, copy=None):
    """Column.__array__: numpy's view of a column."""
    import numpy

    array = numpy.asarray(memoryview(column))
    return numpy.array(array, dtype=dtype) if copy or (dtype is not None and dtype != array.dtype) else array


class Table:
    """The values of a handle whose names begin alike: ``plan.stages`` has those of "stages.forward" and so on.

    It is a mapping of columns, so that ``pandas.DataFrame(dict(plan.stages))`` is a table of them.
    """

    __slots__ = ("_handle", "_prefix")

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
        return _attribute(self, self._handle, f"{self._prefix}.{name}")

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def __contains__(self, name):
        return f"{self._prefix}.{name}" in self._handle.names

    def __dir__(self):
        return [*super().__dir__(), *self.keys()]

    # What never changes is its own copy.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<rehearse.Table {self._prefix}: {', '.join(self.keys())}>"


def _attribute(owner, handle, name):
    """The value of that name, or a table where names begin with it: also instead of a number, which is its length."""
    if name.startswith("__"):
        raise AttributeError(name)
    start = name + "."
    value = handle[name] if name in handle.names else None
    if (value is None or type(value) is int) and any(other.startswith(start) for other in handle.names):
        return Table(handle, name)
    if name not in handle.names:
        raise AttributeError(f"this {type(owner).__name__} has no '{name}'")
    return value


class Handle(_rehearse.Handle):
    """The result of a call: values by name, and texts in every form. It never changes."""

    __slots__ = ()

    def __getattr__(self, name):
        return _attribute(self, self, name)

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
        return [*super().__dir__(), *{name.split(".")[0] for name in self.names}]

    # What never changes is its own copy.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __str__(self):
        return self.write("text")

    def __repr__(self):
        name = self.get("model") or self.kind
        return f"<rehearse.{type(self).__name__}: {name}, {len(self)} values>"

    def to_dict(self):
        """The document that the command prints with --json."""
        import json

        return json.loads(self.write("json"))

    # What Jupyter shows: a picture where there is one, else what the command prints. No picture is no reason to fail.
    def _repr_svg_(self):
        if "svg" not in self.forms:
            return None
        try:
            return self.write("svg")
        except _rehearse.Error:
            return None

    def _repr_html_(self):
        if "html" in self.forms:
            return self.write("html")
        if "svg" in self.forms:
            return None
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class Profile(Handle):
    """Seconds and bytes of layers on device types."""

    __slots__ = ()


class Cluster(Handle):
    """Devices, nodes and links."""

    __slots__ = ()


class Plan(Handle):
    """A pipeline, a training job, or a fleet of pipelines."""

    __slots__ = ()

    def figure(self, path):
        """Draws the plan into a file, as ``rehearse plan --figure`` does; that needs gnuplot."""
        import rehearse

        rehearse.plan(from_=self, figure=path)

    def _repr_svg_(self):
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            try:
                self.figure(path)
                with open(path, encoding="utf-8") as file:
                    return file.read()
            except (_rehearse.Error, OSError):
                return None

    def _repr_html_(self):
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


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


for _kind, _class in {"profile": Profile, "cluster": Cluster, "plan": Plan, "figure": Figure}.items():
    _rehearse.register(_kind, _class)
_rehearse.register(None, Handle)
Mapping.register(Handle)
Mapping.register(Table)
Sequence.register(_rehearse.Column)
