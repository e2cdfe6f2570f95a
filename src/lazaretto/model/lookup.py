"""References to other tables: where they are, and what is looked up in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lazaretto.model.expression import SqlExpression


class Reference(BaseModel):
    """A reference table: by name, or by path and format."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    table: str | None = None
    """`schema.table`, under the lake root or in the project's catalog."""
    path: str | None = None
    """Folder or file, instead of a table name."""
    format: str = "delta"
    """Format of `path`."""
    options: dict[str, str] = Field(default_factory=dict)
    """Reader options for `path`."""
    column: str | None = None
    """The key column in the reference; the rule's own column name if left out."""
    columns: tuple[str, ...] | None = None
    """The key columns, in the order of the rule's `columns`."""
    where: SqlExpression | None = None
    """SQL condition on the reference's rows, e.g. only active ones."""
    valid_from: str | None = None
    """Column that says from when on a key is valid."""
    valid_to: str | None = None
    """Column that says until when (exclusive; NULL: without end)."""

    @model_validator(mode="before")
    @classmethod
    def _list_of_columns(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("columns"), str):
            raise ValueError(f"expected a list: columns: [{data['columns']}]")
        return data

    @model_validator(mode="after")
    def _one_place(self) -> Reference:
        if (self.table is None) == (self.path is None):
            raise ValueError("a reference needs either `table` or `path`")
        if self.column is not None and self.columns is not None:
            raise ValueError("give `column` or `columns`, not both")
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns named, in order; empty if the rule's own names are meant."""
        return (self.column,) if self.column is not None else self.columns or ()

    def __str__(self) -> str:
        return self.table or str(self.path)


@dataclass(frozen=True)
class Lookup:
    """Keys of the row to be found in a reference; the engine turns it into a join."""

    reference: Reference
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    event_time: str | None = None
    broadcast_below: int | None = None
    """Size in bytes up to which the reference is sent to every worker; None: the session's own setting."""
