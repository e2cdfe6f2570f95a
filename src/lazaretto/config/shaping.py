"""From tree to the plain data a model is made of, guided by the types of its fields.

Where a field is text, `1.10` and `true` are text, as written. Where it is true/false or a date, only that is
taken: pydantic by itself would read `20260101` as a second of the year 1970 and `active: yes` as a guess.
"""

from __future__ import annotations

import re
import types
from datetime import date
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lazaretto.config import codes
from lazaretto.config.problems import Problems
from lazaretto.config.yaml_tree import Node

FAULTY: Any = object()
"""Stands for a value whose fault has been noted."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def key_of(name: str, field: FieldInfo) -> str:
    """How a field is called in a file."""
    return field.alias or name


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys a file may give for a model, with their fields; internal ones are left out."""
    return {key_of(name, field): field for name, field in model.model_fields.items() if not field.exclude}


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model an annotation asks for, if it asks for exactly one."""
    inner = _unwrapped(annotation)
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def shape(annotation: Any, node: Node, key: str, problems: Problems) -> Any:
    """The data for a field of this type; FAULTY if the value can be seen to be wrong already here."""
    wanted = _unwrapped(annotation)
    if wanted is bool:
        return _bool(node, key, problems)
    if wanted is date:
        return _date(node, key, problems)
    if wanted is str:
        return node.value if node.value is None or node.text is None else node.text
    if (model := model_in(wanted)) and node.is_mapping:
        return _mapping(node, {name: field.annotation for name, field in keys_of(model).items()}, Any, problems)
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (tuple, list, set, frozenset) and node.is_list and arguments:
        items = [shape(arguments[0], item, key, problems) for item in node.items]
        return FAULTY if any(item is FAULTY for item in items) else items
    if origin is dict and node.is_mapping:
        return _mapping(node, {}, arguments[1], problems)
    return node.plain()


def _mapping(node: Node, annotations: dict[str, Any], other: Any, problems: Problems) -> Any:
    data = {key: shape(annotations.get(key, other), child, key, problems) for key, child in node.entries.items()}
    return FAULTY if any(value is FAULTY for value in data.values()) else data


def _unwrapped(annotation: Any) -> Any:
    """The type itself, without Annotated and without `| None`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _unwrapped(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        some = [member for member in get_args(annotation) if member is not type(None)]
        return _unwrapped(some[0]) if len(some) == 1 else annotation
    return annotation


def _bool(node: Node, key: str, problems: Problems) -> Any:
    if isinstance(node.value, bool):
        return node.value
    # A variable of the operating system is always text; whoever writes one means its word.
    if node.written is not None and isinstance(node.value, str) and node.value.casefold() in ("true", "false"):
        return node.value.casefold() == "true"
    found = repr(node.shown) if isinstance(node.value, str) else node.kind
    problems.add(codes.WRONG_KIND, node.place, f"`{key}` is {found}", expected="true or false")
    return FAULTY


def _date(node: Node, key: str, problems: Problems) -> Any:
    if isinstance(node.value, str) and _DATE.match(node.value):
        try:
            return date.fromisoformat(node.value)
        except ValueError:
            problems.add(
                codes.BAD_VALUE,
                node.place,
                f"`{key}`: there is no day {node.shown}",
                expected="a date such as 2026-12-31",
            )
            return FAULTY
    found = repr(node.shown) if node.text is not None else node.kind
    problems.add(codes.BAD_VALUE, node.place, f"`{key}` is {found}", expected="a date such as 2026-12-31")
    return FAULTY
