"""Did it happen at a time that can be?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from lazaretto.checks import sql
from lazaretto.checks.operands import as_moment
from lazaretto.model.rule import Rule, Site
from lazaretto.model.units import DurationField, duration_words


def _parse_moment(raw: Any) -> Any:
    found = as_moment(raw)
    if found is None or sql.moment(found) is None:
        raise ValueError("expected a date or time such as 2000-01-01 or 2000-01-01T12:00:00Z")
    return found


MomentField = Annotated[
    Any, BeforeValidator(_parse_moment), WithJsonSchema({"type": "string", "examples": ["2000-01-01"]})
]


class EventTime(Rule):
    """The time lies neither too far in the future nor before a date."""

    name: ClassVar[str] = "event_time"
    family: ClassVar[str] = "time"
    example: ClassVar[str] = """
        id: booked_at_plausible
        check: event_time
        column: booked_at
        max_future: 5m
        not_before: 2000-01-01
    """
    note: ClassVar[str] = "The clock is the run's: all rows of a run are judged at the same moment."

    max_future: DurationField | None = None
    """How far ahead of the clock a time may be, for clocks that differ: 0s, 5m, 1h, 2d."""
    not_before: MomentField | None = None
    """The first day (or moment) that can be."""

    @model_validator(mode="after")
    def _has_a_limit(self) -> EventTime:
        if self.max_future is None and self.not_before is None:
            raise ValueError("an event time needs `max_future`, `not_before` or both")
        return self

    def passes(self, site: Site) -> str:
        value = f"cast({site.value} as timestamp)" if sql.is_text(site.type) else site.value
        conditions = []
        if self.max_future is not None:
            seconds = round(self.max_future.total_seconds())
            conditions.append(f"{value} <= {site.now} + INTERVAL {seconds} SECONDS")
        if self.not_before is not None:
            conditions.append(f"{value} >= {sql.moment(self.not_before, site.type)}")
        return sql.conjunction(conditions)

    def expects(self) -> str:
        parts = []
        if self.not_before is not None:
            parts.append(f"not before {sql.plain(self.not_before)}")
        if self.max_future is not None:
            parts.append(f"at most {duration_words(self.max_future)} in the future")
        return "a time " + " and ".join(parts)

    def misfit(self, type_name: str | None) -> str | None:
        if type_name is None or sql.is_text(type_name) or sql.is_time(type_name):
            return None
        return f"the column is no date or time but {type_name}"
