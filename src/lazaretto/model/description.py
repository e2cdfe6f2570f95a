"""What a check says of itself, as plain data: the one source of listings, docs and editor help."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from pydantic_core import PydanticUndefined

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


def summary(check: type[Rule]) -> str:
    """What the check demands: the first paragraph of its docstring."""
    return " ".join(inspect.cleandoc(check.__doc__ or "").split("\n\n")[0].split())


def rule_example(check: type[Rule]) -> str:
    """The example as an entry of `rules:`."""
    body = textwrap.dedent(check.example).strip()
    return "- " + body.replace("\n", "\n  ") if body else ""


def _parameter(check: type[Rule], name: str) -> dict[str, Any]:
    field = check.model_fields[name]
    default = None if field.default is PydanticUndefined else field.default
    return {
        "name": field.alias or name,
        "required": field.is_required(),
        "default": default if isinstance(default, str | int | bool | None) else str(default),
        "description": field.description or "",
    }
