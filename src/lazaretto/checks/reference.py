"""Is the key known elsewhere?"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import model_validator

from lazaretto.model.lookup import Lookup, Reference
from lazaretto.model.rule import Rule, Site
from lazaretto.model.units import SizeField
from lazaretto.model.words import Dimension, Takes


class ReferentialIntegrity(Rule):
    """The key, of one or several columns, exists in a reference table (on request, at the event's time)."""

    name: ClassVar[str] = "referential_integrity"
    family: ClassVar[str] = "reference"
    takes: ClassVar[Takes] = Takes.MANY
    default_dimension: ClassVar[Dimension] = Dimension.REFERENTIAL_INTEGRITY
    example: ClassVar[str] = """
        id: account_exists
        check: referential_integrity
        column: account_id
        reference: {table: ref.accounts, column: account_id, where: status != 'DELETED'}
    """
    note: ClassVar[str] = (
        "One join with the distinct keys of the reference: broadcast if it is smaller than `broadcast_below`,"
        " shuffled otherwise. Where a key is NULL, `on_null` decides."
    )

    reference: Reference
    """The table (or path) with the known keys."""
    event_time: str | None = None
    """Column with the time at which the key must be valid; for references with valid_from or valid_to."""
    broadcast_below: SizeField | None = None
    """Up to this size (64MB) the reference is sent to every worker; the session's own limit if left out."""

    @model_validator(mode="after")
    def _keys_match(self) -> ReferentialIntegrity:
        keys = self.reference.keys
        if keys and len(keys) != len(self.targets):
            raise ValueError(
                f"the rule names {len(self.targets)} key column(s), the reference {len(keys)}: pair them up"
            )
        limited = self.reference.valid_from is not None or self.reference.valid_to is not None
        if limited and self.event_time is None:
            raise ValueError("`valid_from` and `valid_to` need `event_time`: the column with the time to look at")
        if self.event_time is not None and not limited:
            raise ValueError("`event_time` needs `valid_from` or `valid_to` in the reference")
        return self

    def passes(self, site: Site) -> str:
        return site.found

    def expects(self) -> str:
        keys = ", ".join(self.reference.keys or self.targets)
        at = f" at {self.event_time}" if self.event_time else ""
        which = f" where {self.reference.where}" if self.reference.where else ""
        return f"a key in {self.reference} ({keys}){which}{at}"

    def lookup(self) -> Lookup:
        return Lookup(
            reference=self.reference,
            columns=self.targets,
            keys=self.reference.keys or self.targets,
            event_time=self.event_time,
            broadcast_below=self.broadcast_below,
        )

    def mentions(self) -> tuple[str, ...]:
        return (self.event_time,) if self.event_time else ()

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in parameters.items() if k != "broadcast_below"}  # how, not what
