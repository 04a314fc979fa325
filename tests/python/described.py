"""That an answer is what docs/schema/ says of it."""

import re

from rehearse import Column, Table, _handles

TYPES = {
    "float": (float, int),
    "float?": (float, int, type(None)),
    "int": int,
    "int?": (int, type(None)),
    "bool": bool,
    "bool?": (bool, type(None)),
    "str": str,
    "text": (str, type(None)),
    "column": Column,
    "texts": (tuple, Column),  # a column where all are unknown, or there are none
    "any": object,
}


def merged(document):
    """The map of all keys that the items of a list have; or the value itself."""
    if not isinstance(document, list) or not any(isinstance(item, dict) for item in document):
        return document
    found = {}
    for item in document:
        for key, inner in (item or {}).items():
            before = found.get(key)
            together = isinstance(before, list) and isinstance(inner, list)
            found[key] = before + inner if together else {**before, **inner} if isinstance(before, dict) and inner else before or inner
    return found


def complaints_about(handle):
    """What a value's attribute lacks: a description, its type, or all of it."""
    name, document = type(handle).__name__, handle.to_dict()
    answer = next((one for one in _handles.answers().values() if name == one["class"] + "List" * one["lists"] * isinstance(document, list)), None)
    if not answer:
        return [f"{handle.kind}: no class"] if isinstance(merged(document), dict) and "format" in merged(document) else []
    values = {key: value for key, value in merged(document).items() if key not in ("format", "$schema")}
    known = [re.escape(one).replace(r"\*", "[^.]+") for one in _names(answer)]
    others = [one for one in handle.names if not re.fullmatch(rf"({'|'.join(known)})(\.ends)?", one)]
    return [f"{name}: {one}: no description" for one in others] + list(_complaints(handle, answer, values, name, isinstance(document, list)))


def _names(value, name=""):
    """All names below that are described."""
    if name:
        yield name
    for key, inner in value["of"].items() if isinstance(value, dict) else ():
        key = inner.get("key", key) if isinstance(inner, dict) else key
        yield from _names(inner, f"{name}.{key}" if name else key)


def _complaints(owner, value, document, place, is_list):
    base = _handles.Table if isinstance(owner, Table) else _handles.Handle
    for key, inner in document.items():
        if key == "$schema":
            continue
        at = f"{place}.{key}"
        known = value["of"].get(key, value["of"].get("*"))
        if not known:
            yield f"{at}: no description"
            continue
        try:
            found = getattr(owner, _handles.attribute_name(key, base) if key in value["of"] else key)
        except AttributeError as error:
            yield f"{at}: {error}"
            continue
        inner = merged(inner)
        if isinstance(known, list):
            kind, text = _handles.described(known, is_list)
            if not isinstance(found, TYPES[kind]) or (isinstance(found, bool) and kind not in ("bool", "bool?", "any")):
                yield f"{at}: expected {kind}, found {found!r}"
            if isinstance(inner, dict) and inner and key + "_" in value["of"]:
                yield from _complaints(getattr(owner, key + "_"), value["of"][key + "_"], inner, at + "_", is_list)
            if key in value["of"] and getattr(type(owner), _handles.attribute_name(key, base)).__doc__ != text:
                yield f"{at}: another documentation"
        elif isinstance(inner, dict) and inner:
            if isinstance(found, Table):
                yield from _complaints(found, known, inner, at, is_list)
            else:
                yield f"{at}: no table: {found!r}"
