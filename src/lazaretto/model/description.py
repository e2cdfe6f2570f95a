"""What a check or transformation says of itself, as plain data: the one source of listings, docs and editor help."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from lazaretto.model.correction import Transformation
from lazaretto.model.rule import Rule


def describe(check: type[Rule]) -> dict[str, Any]:
    """Name, summary, parameters, defaults and example of a check."""
    return {
        "name": check.name,
        "family": check.family,
        "summary": summary(check),
        "takes": check.takes.value,
        "dimension": check.default_dimension.value,
        "on_fail": check.default_on_fail.value,
        "on_null": check.default_on_null.value,
        "note": check.note,
        "parameters": [_parameter(check, name) for name in check.parameters()],
        "example": rule_example(check),
    }


def describe_transformation(kind: type[Transformation]) -> dict[str, Any]:
    """Name, summary, parameters and example of a transformation."""
    return {
        "name": kind.name,
        "family": kind.family,
        "summary": " ".join(inspect.cleandoc(kind.__doc__ or "").split()),
        "note": kind.note,
        "parameters": [_parameter(kind, name) for name in kind.parameters()],
        "example": rule_example(kind),
    }


def summary(kind: type[BaseModel]) -> str:
    """What a check demands, or a transformation does: the first paragraph of its docstring."""
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def rule_example(check: type[Rule] | type[Transformation]) -> str:
    """The example as an entry of `rules:` (or `transformations:`)."""
    body = textwrap.dedent(check.example).strip()
    return "- " + body.replace("\n", "\n  ") if body else ""


def _parameter(check: type[BaseModel], name: str) -> dict[str, Any]:
    field = check.model_fields[name]
    default = None if field.default is PydanticUndefined else field.default
    return {
        "name": field.alias or name,
        "required": field.is_required(),
        "default": default if isinstance(default, str | int | bool | None) else str(default),
        "description": field.description or "",
    }
