"""A correction: what to try on a record that broke certain rules, the mirror of a rule.

`Transformation` is one step of it. The kinds of steps (see `lazaretto.transformations`) are subclasses that add their
own parameters as fields and give the new value as SQL text, as checks do.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from lazaretto.model.catalogue import nearest
from lazaretto.model.expression import SqlExpression
from lazaretto.model.expression import canonical as canonical_sql
from lazaretto.model.fingerprint import sha256
from lazaretto.model.lookup import Reference
from lazaretto.model.rule import Site
from lazaretto.model.values import Location, OneOrMany, TableName, Version, canonical

_NAME = re.compile(r"\A[A-Za-z_][A-Za-z0-9_.\-]*\Z")

_KINDS: dict[str, type[Transformation]] = {}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Transformation(BaseModel):
    """One step of a correction: it gives a column another value."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True, populate_by_name=True
    )

    # What a kind of step declares about itself.
    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    reads_text: ClassVar[bool] = False
    """Whether it works on the value as it was written, which may be one that does not fit the column's type."""
    example: ClassVar[str] = ""
    """A step as a steward would write it: shown in the docs and in editors, and tested."""
    note: ClassVar[str] = ""

    transform: str = ""
    """Which transformation it is (docs/corrections.md lists them)."""
    column: Annotated[str, Field(min_length=1)]
    """The column that gets another value."""
    location: Location | None = Field(default=None, exclude=True, repr=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Enter a new kind of step into the list."""
        super().__pydantic_init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            _KINDS[cls.name] = cls

    @model_validator(mode="before")
    @classmethod
    def _names_itself(cls, data: Any) -> Any:
        return data | {"transform": cls.name} if isinstance(data, dict) else data

    # What a step does. All of it is text; nothing here touches data.

    def value(self, site: Site) -> str:
        """SQL of the new value. Where it is NULL or throws, the correction as a whole is not applied."""
        raise NotImplementedError

    def applies(self, site: Site) -> str:
        """SQL: the step has an answer for this value; where not, the correction as a whole is not applied."""
        return "true"

    @property
    def may_give_null(self) -> bool:
        """Whether NULL can be what is wanted."""
        return False

    def expressions(self) -> tuple[str, ...]:
        """All SQL that the user wrote in this step."""
        return ()

    def mentions(self) -> tuple[str, ...]:
        """Names of other columns that the step reads."""
        return ()

    def lookup(self) -> Fetch | None:
        """What the step takes from a reference table, if anything."""
        return None

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters as they enter the fingerprint."""
        return parameters

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the keys that this kind adds to those of every step."""
        return tuple(name for name in cls.model_fields if name not in Transformation.model_fields)


class Fetch(_Frozen):
    """A value of a reference table, found by a key of the row."""

    reference: Reference
    key: tuple[str, ...]
    """Columns of the row."""
    take: str
    """Column of the reference."""

    @property
    def reference_key(self) -> tuple[str, ...]:
        """The key columns of the reference."""
        return self.reference.keys or self.key


class Match(_Frozen):
    """The records a correction is meant for: all conditions hold."""

    rules: tuple[str, ...] = ()
    """Ids of rules, one of which the record broke; any rule if left out."""
    where: SqlExpression | None = None
    """SQL condition on the row as it was rejected."""

    @field_validator("rules", mode="before")
    @classmethod
    def _list_of_names(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.rules and self.where is None:
            raise ValueError("a correction needs `rules`, `where` or both: the records it is meant for")
        return self

    def covers(self, other: Match) -> bool:
        """Whether every record that the other matches is certainly matched by this one too."""
        rules = not self.rules or (bool(other.rules) and set(other.rules) <= set(self.rules))
        if self.where is None or not rules:
            return rules
        return other.where is not None and canonical_sql(self.where) == canonical_sql(other.where)


class Correction(_Frozen):
    """What to try on records that broke certain rules: ordered transformations."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    """Name of the correction, unique in the project."""
    version: str | None = None
    """Version of this correction; the file's if left out."""
    description: str = ""
    """What is wrong with such records, and why this mends it."""
    owner: str | None = None
    """Who answers for the correction; the file's owner if left out."""
    active: bool = True
    """False switches the correction off without deleting it."""
    match: Match
    """Which records it is meant for: `rules`, `where` or both."""
    transformations: Annotated[tuple[SerializeAsAny[Transformation], ...], Field(min_length=1)]
    """The steps, one after the other."""
    tags: tuple[str, ...] = ()
    """Free labels."""
    location: Location | None = Field(default=None, exclude=True, repr=False)

    @field_validator("id")
    @classmethod
    def _id_is_a_name(cls, value: str) -> str:
        if not _NAME.match(value):
            raise ValueError("expected a name of letters, digits, '_', '-' and '.', beginning with a letter")
        return value

    @field_validator("tags", mode="before")
    @classmethod
    def _list_of_tags(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"expected a list: [{value}]")
        return value

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it changes, as written, in order."""
        return tuple(dict.fromkeys(step.column for step in self.transformations))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what changes a value, and over nothing else."""
        where = self.match.where
        return sha256(
            {
                "rules": sorted(self.match.rules),
                "where": canonical_sql(where) if where else None,
                "transformations": [_canonical_step(step) for step in self.transformations],
            }
        )

    @property
    def steps_fingerprint(self) -> str:
        """SHA-256 over the steps alone."""
        return sha256([_canonical_step(step) for step in self.transformations])


class CorrectionSet(_Frozen):
    """The corrections of one dataset: a file of corrections/, or one entity in it."""

    asset: TableName
    """The table whose rejected records are meant, as `schema.table`."""
    version: Version
    """Version of the file; bump it with every change of a correction."""
    owner: Annotated[str, Field(min_length=1)]
    """Who answers for the corrections."""
    description: str = ""
    """What they are for."""
    source_system: str | None = None
    """The system the rows come from."""
    entity: str | None = None
    """What the rows are."""
    extends: OneOrMany = ()
    """Presets this file builds on; already merged in when it is loaded."""
    corrections: Annotated[tuple[Correction, ...], Field(min_length=1)]
    """The corrections; of several for the same broken rule the first that can be applied wins."""
    location: Location | None = Field(default=None, exclude=True, repr=False)
    project_root: PurePath | None = Field(default=None, exclude=True, repr=False)

    @property
    def active(self) -> tuple[Correction, ...]:
        """The corrections that are tried, each with its version and owner filled in."""
        return tuple(
            one.model_copy(update={"version": one.version or self.version, "owner": one.owner or self.owner})
            for one in self.corrections
            if one.active
        )


class UnknownTransformation(LookupError):
    """No transformation has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nearest = nearest(name, _KINDS)
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        super().__init__(f"there is no transformation {name!r}{hint}")


def find_transformation(name: str) -> type[Transformation]:
    """The kind of step of this name, or UnknownTransformation with the nearest one."""
    try:
        return _KINDS[name]
    except KeyError:
        raise UnknownTransformation(name) from None


def all_transformations() -> tuple[type[Transformation], ...]:
    """Every kind of step, by family and name."""
    return tuple(sorted(_KINDS.values(), key=lambda kind: (kind.family, kind.name)))


def _canonical_step(step: Transformation) -> dict[str, Any]:
    parameters = {
        name: canonical(getattr(step, name))
        for name in step.parameters()
        if getattr(step, name) != type(step).model_fields[name].default
    }
    return {
        "transform": step.name,
        "column": step.column,
        "parameters": step.canonical_parameters(parameters),
    }
