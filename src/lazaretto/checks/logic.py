"""Rules between columns: free SQL, if-then, and the steps a status may take."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from lazaretto.checks import sql
from lazaretto.checks.base import TextRule, listed, text_of
from lazaretto.model.expression import SqlExpression
from lazaretto.model.expression import canonical as canonical_sql
from lazaretto.model.rule import Rule, Site
from lazaretto.model.words import Dimension, OnNull, Takes


class CustomSql(Rule):
    """A condition of your own, in SQL, is true for the row."""

    name: ClassVar[str] = "custom_sql"
    family: ClassVar[str] = "logic"
    takes: ClassVar[Takes] = Takes.OPTIONAL
    default_dimension: ClassVar[Dimension] = Dimension.CONSISTENCY
    default_on_null: ClassVar[OnNull] = OnNull.FAIL
    example: ClassVar[str] = """
        id: fee_below_amount
        check: custom_sql
        column: fee
        expression: fee < amount * 0.1
    """
    note: ClassVar[str] = "Where the condition is NULL the row fails, unless `on_null: pass`."

    expression: SqlExpression
    """The condition a right row fulfils; `column` only says which column is to blame."""

    def passes(self, site: Site) -> str:
        return self.expression

    def expects(self) -> str:
        return self.expression

    def expressions(self) -> tuple[str, ...]:
        return (*super().expressions(), self.expression)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters | {"expression": canonical_sql(self.expression)}


class Consistency(Rule):
    """If one condition is true for the row, another one is true as well."""

    model_config = ConfigDict(populate_by_name=True)

    name: ClassVar[str] = "consistency"
    family: ClassVar[str] = "logic"
    takes: ClassVar[Takes] = Takes.OPTIONAL
    default_dimension: ClassVar[Dimension] = Dimension.CONSISTENCY
    default_on_null: ClassVar[OnNull] = OnNull.FAIL
    example: ClassVar[str] = """
        id: closed_accounts_have_a_date
        check: consistency
        column: closed_at
        if: status = 'CLOSED'
        then: closed_at >= opened_at
    """
    note: ClassVar[str] = (
        "Rows whose `if` is NULL are not meant. Where `then` is NULL the row fails, unless `on_null: pass`."
    )

    if_: SqlExpression = Field(alias="if")
    """The rows that are meant."""
    then: SqlExpression
    """What must hold for them."""

    def passes(self, site: Site) -> str:
        return f"CASE WHEN {self.if_} THEN {self.then} ELSE true END"

    def expects(self) -> str:
        return f"{self.then} if {self.if_}"

    def expressions(self) -> tuple[str, ...]:
        return (*super().expressions(), self.if_, self.then)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters | {"if_": canonical_sql(self.if_), "then": canonical_sql(self.then)}


def _as_texts(value: Any) -> Any:
    """States are compared as text; numbers may be written plainly, but true and null are mistakes."""
    if isinstance(value, dict):
        return {_as_text(state): _as_texts(after) for state, after in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(state) for state in value]
    raise ValueError("expected a list of states, such as [OPEN, CLOSED]")


def _as_text(state: Any) -> Any:
    if state is None or isinstance(state, bool):
        raise ValueError(
            f"{'NULL' if state is None else str(state).lower()} is not a state; use `initial` for no state"
        )
    return sql.plain(state)


class Transition(TextRule):
    """The status went from the previous one to the new one by a step that is allowed."""

    model_config = ConfigDict(populate_by_name=True)

    name: ClassVar[str] = "transition"
    family: ClassVar[str] = "logic"
    default_dimension: ClassVar[Dimension] = Dimension.CONSISTENCY
    example: ClassVar[str] = """
        id: account_status_steps
        check: transition
        column: status
        from: previous_status
        allowed:
          OPEN: [SUSPENDED, CLOSED]
          SUSPENDED: [OPEN, CLOSED]
          CLOSED: []
        initial: [OPEN]
    """
    note: ClassVar[str] = "A status that is not in the table has no steps. Staying is a step too, unless `stay: true`."

    from_: Annotated[str, Field(alias="from", min_length=1)]
    """Column with the previous status."""
    allowed: Annotated[dict[str, tuple[str, ...]], Field(min_length=1), BeforeValidator(_as_texts)]
    """For each status, those that may follow it."""
    initial: Annotated[tuple[str, ...], BeforeValidator(_as_texts)] | None = None
    """Statuses allowed where there is no previous one; without it `on_null` decides."""
    stay: bool = False
    """True: a status may stay as it is, even if the table does not say so."""

    def passes(self, site: Site) -> str:
        before, before_type = site.resolve(self.from_)
        before = sql.as_text(before, before_type)
        value = text_of(site)
        cases = [f"WHEN {before} IS NULL THEN {'NULL' if self.initial is None else _among(value, self.initial)}"]
        if self.stay:
            cases.append(f"WHEN {value} = {before} THEN true")
        cases += [
            f"WHEN {before} = {sql.text(state)} THEN {_among(value, after)}"
            for state, after in self.allowed.items()
            if after
        ]
        return sql.decided(site.value, f"CASE {' '.join(cases)} ELSE false END")

    def expects(self) -> str:
        steps = [f"{state} → {' | '.join(after) or 'nothing'}" for state, after in self.allowed.items()]
        if self.initial is not None:
            steps.append(f"first {' | '.join(self.initial) or 'nothing'}")
        return f"an allowed step: {listed(steps)}"

    def mentions(self) -> tuple[str, ...]:
        return (self.from_,)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        form = parameters | {"allowed": {state: sorted(after) for state, after in self.allowed.items()}}
        return form if self.initial is None else form | {"initial": sorted(self.initial)}


def _among(value: str, states: tuple[str, ...]) -> str:
    return f"{value} IN ({', '.join(sql.text(state) for state in states)})" if states else "false"
