"""A rule: one demand on the data, with everything that says how seriously it is meant.

`Rule` holds the keys that every rule has. A check (see `lazaretto.checks`) is a subclass that adds its own
parameters as fields and says, as SQL text, when a value passes. Being text, it can be shown to a person, stored
as evidence and run on any Spark session, and no module up to here needs Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lazaretto.model import catalogue
from lazaretto.model.expression import SqlExpression
from lazaretto.model.lookup import Lookup
from lazaretto.model.template import MessageTemplate
from lazaretto.model.values import Location, ThresholdField
from lazaretto.model.words import Dimension, OnError, OnFail, OnNull, Severity, Takes

RESERVED_PREFIX = "lz."
"""Ids beginning so belong to the rules that Lazaretto brings itself."""

_RULE_ID = re.compile(r"\A[A-Za-z_][A-Za-z0-9_.\-]*\Z")


@dataclass(frozen=True)
class Site:
    """The place a rule is applied at: the value under inspection and its surroundings, all as SQL text."""

    value: str
    """SQL of the value; empty for a check without a column."""
    type: str | None = None
    """Spark's name of the value's type (`decimal(18,2)`), where the schema is known."""
    values: tuple[str, ...] = ()
    """SQL of all columns of a check that takes many."""
    now: str = "current_timestamp()"
    """The clock, passed in."""
    found: str = ""
    """For a check with a `lookup`: SQL that is true where the reference has the key."""
    resolve: Callable[[str], tuple[str, str | None]] = field(default=lambda name: (name, None))
    """Name of another column → its SQL and type."""


class Rule(BaseModel):
    """What every rule has. Subclasses are the checks."""

    # Building a validator costs some milliseconds a check; most suites use only a few of them.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)

    # What a check declares about itself.
    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    takes: ClassVar[Takes] = Takes.ONE
    default_dimension: ClassVar[Dimension] = Dimension.VALIDITY
    default_on_null: ClassVar[OnNull] = OnNull.PASS
    default_on_fail: ClassVar[OnFail] = OnFail.QUARANTINE_RECORDS
    judges_schema: ClassVar[bool] = False
    """True for a check that looks at the columns themselves and at no row."""
    hides_value: ClassVar[bool] = False
    """True where a failing value must not be shown, because showing it is the harm."""
    example: ClassVar[str] = ""
    """A rule as a steward would write it: shown by `lazaretto checks`, in the docs and in editors, and tested."""
    note: ClassVar[str] = ""
    """What it costs or what to beware of, for `lazaretto explain`."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    """Name of the rule, unique in its suite."""
    check: str = ""
    """Which check of the catalogue it applies (`lazaretto checks` lists them)."""
    version: str | None = None
    """Version of this rule; the suite's if left out."""
    description: str = ""
    """Why the rule exists, in words for whoever reviews a failing record."""
    column: str | None = None
    """The column inspected; `address.city` is a nested field, `items.each.price` every element of an array."""
    columns: tuple[str, ...] | None = None
    """Several columns: one instance of the rule for each (or all together, where the check says so)."""
    where: SqlExpression | None = None
    """SQL condition that says which rows the rule applies to."""
    severity: Severity = Severity.MEDIUM
    """How bad a failure is: info, low, medium, high or critical."""
    dimension: Dimension = None  # type: ignore[assignment]  # filled from the check before validation
    """Which side of quality the rule looks at; the check has a default."""
    on_fail: OnFail = None  # type: ignore[assignment]
    """What happens to a row (or the batch) that breaks the rule."""
    on_error: OnError = OnError.BLOCK_PUBLICATION
    """What happens where the rule could not be evaluated."""
    on_null: OnNull = None  # type: ignore[assignment]
    """Whether an undecided comparison (NULL) passes or fails."""
    retry: Annotated[int, Field(ge=0, le=10)] = 0
    """How often a broken check is tried again before `on_error` applies."""
    optional: bool = False
    """A broken check is then a warning only."""
    expires: date | None = None
    """Last day of `on_fail: observe`; after it the rule warns."""
    warn_above: ThresholdField | None = None
    """More failing rows than this (rate `5%` or count) and the batch is at least WARN."""
    block_above: ThresholdField | None = None
    """More failing rows than this (rate `5%` or count) and the batch is not published."""
    message: MessageTemplate | None = None
    """Text for a failing row; may use {value}, {expected}, {column}, {rule}, {severity}, {row.NAME}."""
    reason_code: str = ""
    """Code for grouping failures; the check's name if left out."""
    owner: str | None = None
    """Who answers for the rule; the suite's owner if left out."""
    recycled: Literal["judge", "skip"] = "judge"
    """skip: the rule does not judge corrected records (it makes sense on what comes from the source only)."""
    tags: tuple[str, ...] = ()
    """Free labels."""
    metadata: dict[str, str] = Field(default_factory=dict)
    """Free key-value pairs, carried into results."""
    runbook: str | None = None
    """Where it is written what to do when the rule fails."""
    active: bool = True
    """False switches the rule off without deleting it."""
    inactive_since: date | None = None
    """Since when it is off."""
    location: Location | None = Field(default=None, exclude=True, repr=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Enter a new check into the catalogue and see that it leaves the keys of every rule alone."""
        super().__pydantic_init_subclass__(**kwargs)
        if clash := [name for name in cls.__annotations__ if name in Rule.model_fields]:
            raise TypeError(f"{cls.__qualname__}: {clash[0]!r} is a key of every rule; name the parameter otherwise")
        if "name" in cls.__dict__:
            catalogue.register(cls)

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_check(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        filled = {k: v for k, v in data.items() if not (k == "check" and v == cls.name)}
        if filled.get("check"):
            raise ValueError(f"this is the check {cls.name}, not {filled['check']}")
        filled["check"] = cls.name
        for key, default in (
            ("dimension", cls.default_dimension),
            ("on_fail", cls.default_on_fail),
            ("on_null", cls.default_on_null),
            ("reason_code", cls.name),
        ):
            if filled.get(key) is None:
                filled[key] = default
        return filled

    @field_validator("id")
    @classmethod
    def _id_is_a_name(cls, value: str) -> str:
        if not _RULE_ID.match(value):
            raise ValueError("expected a name of letters, digits, '_', '-' and '.', beginning with a letter")
        if value.startswith(RESERVED_PREFIX) and not cls.name.startswith(RESERVED_PREFIX):
            raise ValueError(f"ids beginning with {RESERVED_PREFIX!r} are reserved for built-in rules")
        return value

    @field_validator("columns", "tags", mode="before")
    @classmethod
    def _list_of_names(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"expected a list: [{value}]")
        return value

    @model_validator(mode="after")
    def _columns_fit_the_check(self) -> Rule:
        if self.column is not None and self.columns is not None:
            raise ValueError("give `column` or `columns`, not both")
        named = bool(self.column or self.columns)
        if self.takes in (Takes.ONE, Takes.MANY) and not named:
            raise ValueError(f"the check {self.name} needs a `column` (or `columns`)")
        if self.takes is Takes.NONE and named:
            raise ValueError(f"the check {self.name} takes no `column`")
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            raise ValueError("a column is listed twice")
        return self

    @model_validator(mode="after")
    def _seriousness_fits(self) -> Rule:
        if self.severity is Severity.CRITICAL and (self.warn_above or self.block_above):
            raise ValueError("a critical rule takes no thresholds: one failing row is enough")
        if self.on_fail is OnFail.OBSERVE and self.expires is None:
            raise ValueError("`on_fail: observe` needs an end: add `expires: YYYY-MM-DD`")
        if self.expires is not None and self.on_fail is not OnFail.OBSERVE:
            raise ValueError("`expires` belongs to `on_fail: observe`")
        if self.inactive_since is not None and self.active:
            raise ValueError("`inactive_since` belongs to a rule with `active: false`")
        return self

    # What a check says about a value. All of it is text; nothing here touches data.

    def passes(self, site: Site) -> str:
        """SQL that is true where the value is right, false where it is wrong, NULL where that is undecided."""
        raise NotImplementedError

    def expects(self) -> str:
        """What a value should be, in a few words for a person (`expected_value` in the results)."""
        raise NotImplementedError

    def lookup(self) -> Lookup | None:
        """The table the check looks keys up in, if any."""
        return None

    def expressions(self) -> tuple[str, ...]:
        """All SQL that the user wrote in this rule."""
        return (self.where,) if self.where else ()

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters as they enter the fingerprint; a check whose lists are sets sorts them here."""
        return parameters

    def mentions(self) -> tuple[str, ...]:
        """Names of the columns the parameters refer to, besides `column` and `columns`."""
        return ()

    def misfit(self, type_name: str | None) -> str | None:
        """Why the check cannot be applied to a column of this type, or None."""
        return None

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns named, in order."""
        if self.column is not None:
            return (self.column,)
        return self.columns or ()

    @property
    def effective_on_error(self) -> OnError:
        """`optional: true` softens a broken check to a warning."""
        return OnError.WARN if self.optional else self.on_error

    def on_fail_at(self, today: date) -> OnFail:
        """`observe` ends with its day; from then on the rule warns."""
        if self.on_fail is OnFail.OBSERVE and self.expires is not None and today > self.expires:
            return OnFail.WARN
        return self.on_fail

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the keys that this check adds to those of every rule."""
        return tuple(name for name in cls.model_fields if name not in Rule.model_fields)
