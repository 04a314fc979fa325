"""Columns and tables for Arrow and pandas: what is handed out, as python/src/arrow.c takes it."""

import itertools
from array import array as packed

from rehearse import _rehearse

# A description is (name, format, elements, unknown ones, buffers, children); formats are those of Arrow's C data interface.


def _bits(values):
    """A bit for each value that is known, and how many are not."""
    unknown = sum(value is None for value in values)
    if not unknown:
        return None, 0
    bits = bytearray((len(values) + 7) // 8)
    for place, value in enumerate(values):
        bits[place // 8] |= (value is not None) << place % 8
    return bytes(bits), unknown


def _of_texts(name, texts):
    encoded = [(text or "").encode("utf-8", "backslashreplace") for text in texts]  # names of files need not be UTF-8
    ends = packed("q", itertools.accumulate(map(len, encoded), initial=0))
    known, unknown = _bits(texts)
    return name, "U", len(texts), unknown, (known, ends.tobytes(), b"".join(encoded)), ()


def _of_column(name, column):
    kind, count, unknown, buffers = column._buffers()
    if len(column.shape) == 1:
        return name, kind, count, unknown, buffers, ()
    return name, f"+w:{column.shape[1]}", len(column), 0, (None,), (("item", kind, count, unknown, buffers, ()),)


def _of_single(name, value):
    if isinstance(value, str):
        return _of_texts(name, (value,))
    if value is None:
        return name, "n", 1, 1, (), ()
    if isinstance(value, bool):
        return name, "b", 1, 0, (None, bytes([value])), ()
    return name, "lg"[isinstance(value, float)], 1, 0, (None, packed("qd"[isinstance(value, float)], [value]).tobytes()), ()


def _of_value(name, value):
    if isinstance(value, _rehearse.Column):
        return _of_column(name, value)
    return _of_texts(name, value) if isinstance(value, tuple) else _of_single(name, value)


def _length(value):
    return len(value) if isinstance(value, (tuple, _rehearse.Column)) else 1


def fields(values):
    """[(name, value, ends of its lists or None)] of the rows of a table: {name: value}. A value is a mapping where a row has lists of maps.

    What has another length belongs to no row, and is left out."""
    ends = {name[:-5]: value for name, value in values.items() if name.endswith(".ends")}
    outer = {name for name in ends if not any(name.startswith(other + ".") for other in ends)}
    found, rows = [], None
    for name, value in values.items():
        if name != "ends" and not name.endswith(".ends") and not any(name.startswith(other + ".") for other in outer):
            of = None if name not in outer or any(other.startswith(name + ".") and other != name + ".ends" for other in values) else ends[name]
            found.append((name, value, of))
            rows = _length(value) if rows is None and of is None else rows
    for name in outer:
        inner = {other[len(name) + 1 :]: value for other, value in values.items() if other.startswith(name + ".") and other != name + ".ends"}
        if inner:
            found.append((name + "_" if name in values else name, inner, ends[name]))
    rows = len(found[0][2]) if rows is None and found else rows
    return [(name, value, of) for name, value, of in found if (_length(value) if of is None else len(of)) == rows]


def _of_rows(name, values):
    """A struct of all columns of a table."""
    children, rows = [], 0
    for field, value, ends in fields(values):
        rows = _length(value) if ends is None else len(ends)
        child = _of_rows("item", value) if isinstance(value, dict) else _of_value(field if ends is None else "item", value)
        if ends is not None:
            child = (field, "+L", rows, 0, (None, packed("q", [0, *ends]).tobytes()), (child,))
        children.append(child)
    return name, "+s", rows, 0, (None,), tuple(children)


def _describe(owner):
    if isinstance(owner, _rehearse.Column):
        return _of_column("", owner)
    return _of_rows("", dict(owner.items()))


def array(owner, requested_schema=None):
    """Capsules of the schema and the array; another schema than the own one is not made."""
    del requested_schema
    return _rehearse.arrow_array(_describe(owner))


def schema(owner):
    """Capsule of the schema."""
    return _rehearse.arrow_schema(_describe(owner))


def stream(owner, requested_schema=None):
    """Capsule of a stream of one array."""
    del requested_schema
    return _rehearse.arrow_stream(_describe(owner))


class Rows:
    """A table that is nothing else: polars takes a mapping for one of columns."""

    def __init__(self, owner):
        self._owner = owner

    def __arrow_c_stream__(self, requested_schema=None):
        return stream(self._owner, requested_schema)


def columns(owner):
    """[(name, values of each row)]: columns, texts, and lists where a row has several."""
    made = []
    for name, value, ends in fields(dict(owner.items())):
        if isinstance(value, dict):
            made += [(f"{name}.{inner}", _split(column, ends)) for inner, column, of in fields(value) if of is None]
        elif ends is not None:
            made.append((name, _split(value, ends)))
        else:
            made.append((name, value if isinstance(value, (tuple, _rehearse.Column)) else (value,)))
    return [(name, value.tolist() if isinstance(value, _rehearse.Column) and len(value.shape) > 1 else value) for name, value in made]


def _split(values, ends):
    values = list(values)
    return [values[begin:end] for begin, end in zip([0, *ends], ends)]
