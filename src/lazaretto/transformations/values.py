"""Steps that give a value from elsewhere: a table of values, a default, another column, an expression."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from lazaretto.checks import sql
from lazaretto.model.correction import Fetch, Transformation
from lazaretto.model.expression import SqlValue
from lazaretto.model.expression import canonical as canonical_sql
from lazaretto.model.lookup import Reference
from lazaretto.model.rule import Site
from lazaretto.model.values import LiteralField
from lazaretto.transformations.characters import TextTransformation, text_of


class MapValues(TextTransformation):
    """Replaces certain values by others; a value that is not listed is left to others, or gets the default."""

    name: ClassVar[str] = "map_values"
    family: ClassVar[str] = "values"
    example: ClassVar[str] = """
        transform: map_values
        column: country
        values: {UK: GB, Deutschland: DE}
        to_null: [N/A, '-']
    """

    values: dict[str, LiteralField] = Field(default_factory=dict)
    """What is found, and what it becomes."""
    to_null: tuple[str, ...] = ()
    """What is found and means that there is no value."""
    default: LiteralField | None = None
    """What any other value becomes."""
    ignore_case: bool = False
    """True: capital and small letters are the same."""

    @field_validator("to_null", mode="before")
    @classmethod
    def _list_of_texts(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"expected a list: [{value}]")
        return value

    @model_validator(mode="after")
    def _maps_something(self) -> MapValues:
        if not self.values and not self.to_null:
            raise ValueError("map_values needs `values`, `to_null` or both")
        folded = [self._key(word) for word in (*self.values, *self.to_null)]
        if twice := sorted({word for word in folded if folded.count(word) > 1}):
            raise ValueError(f"`values` and `to_null` list {twice[0]!r} twice")
        return self

    def _key(self, word: str) -> str:
        return word.casefold() if self.ignore_case else word

    def _matches(self, site: Site, word: str) -> str:
        text = text_of(site)
        return f"lower({text}) = lower({sql.text(word)})" if self.ignore_case else f"{text} = {sql.text(word)}"

    @property
    def may_give_null(self) -> bool:
        return bool(self.to_null)

    def applies(self, site: Site) -> str:
        if self.default is not None:
            return f"{text_of(site)} IS NOT NULL"
        return " OR ".join(self._matches(site, word) for word in (*self.values, *self.to_null))

    def value(self, site: Site) -> str:
        cases = [f"WHEN {self._matches(site, word)} THEN {_text(to)}" for word, to in self.values.items()]
        cases += [f"WHEN {self._matches(site, word)} THEN cast(NULL as string)" for word in self.to_null]
        other = "cast(NULL as string)" if self.default is None else _text(self.default)
        return f"CASE {' '.join(cases)} ELSE {other} END"

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters | ({"to_null": sorted(self.to_null)} if self.to_null else {})


class Default(Transformation):
    """Gives a value where there is none."""

    name: ClassVar[str] = "default"
    family: ClassVar[str] = "values"
    example: ClassVar[str] = """
        transform: default
        column: currency
        value: AED
    """

    value_: Annotated[LiteralField, Field(alias="value")]
    """The value."""
    empty: bool = False
    """True: a text of nothing but white space counts as none."""

    def value(self, site: Site) -> str:
        given = sql.literal(self.value_, site.type)
        if not self.empty or not sql.is_text(site.type):
            return f"coalesce({site.value}, {given})"
        return f"CASE WHEN trim({site.value}) <> '' THEN {site.value} ELSE {given} END"


class FromColumn(Transformation):
    """Takes the value of another column of the same row, where that has one."""

    name: ClassVar[str] = "from_column"
    family: ClassVar[str] = "values"
    example: ClassVar[str] = """
        transform: from_column
        column: booking_date
        from: value_date
    """

    from_: Annotated[str, Field(alias="from", min_length=1)]
    """The other column; `address.city` is a nested field."""

    def value(self, site: Site) -> str:
        return site.resolve(self.from_)[0]

    def mentions(self) -> tuple[str, ...]:
        return (self.from_,)


class FromReference(Transformation):
    """Takes a value from a reference table, found by a key of the row; a key that is not there, or there with several
    values, is left to others.
    """

    name: ClassVar[str] = "lookup"
    family: ClassVar[str] = "values"
    example: ClassVar[str] = """
        transform: lookup
        column: account_id
        key: [legacy_id]
        reference: {table: ref.account_numbers, column: old_number}
        take: new_number
    """
    note: ClassVar[str] = "One join with the distinct keys of the reference."

    key: Annotated[tuple[str, ...], Field(min_length=1)]
    """The columns of the row to look up by."""
    reference: Reference
    """The table (or path), with its key columns in the order of `key`."""
    take: Annotated[str, Field(min_length=1)]
    """The column of the reference whose value is taken."""

    @field_validator("key", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _keys_match(self) -> FromReference:
        keys = self.reference.keys
        if keys and len(keys) != len(self.key):
            raise ValueError(f"`key` names {len(self.key)} column(s), the reference {len(keys)}: pair them up")
        if self.reference.valid_from is not None or self.reference.valid_to is not None:
            raise ValueError("`reference` of a lookup takes no valid_from or valid_to; use its `where`")
        return self

    def value(self, site: Site) -> str:
        return site.found

    def mentions(self) -> tuple[str, ...]:
        return self.key

    def lookup(self) -> Fetch:
        return Fetch(reference=self.reference, key=self.key, take=self.take)


class Sql(Transformation):
    """Gives the value of an SQL expression over the row as the steps before left it."""

    name: ClassVar[str] = "sql"
    family: ClassVar[str] = "values"
    example: ClassVar[str] = """
        transform: sql
        column: amount
        expression: abs(amount)
    """
    note: ClassVar[str] = "Allowed is what rules allow: scalar functions on the columns of the row."

    expression: SqlValue
    """The expression."""
    null: bool = False
    """True: NULL is a result like any other; else the correction is not applied where the expression is NULL."""

    @property
    def may_give_null(self) -> bool:
        return self.null

    def value(self, site: Site) -> str:
        return self.expression

    def expressions(self) -> tuple[str, ...]:
        return (self.expression,)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters | {"expression": canonical_sql(self.expression)}


def _text(value: Any) -> str:
    return sql.text(sql.plain(value))
