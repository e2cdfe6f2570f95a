"""Suite → plan: every rule instance as total SQL, before any data is touched and without Spark.

Total means: true or false, never NULL, and false only where the rule applies and the value is wrong. What makes
a rule impossible to evaluate (a missing column, a missing reference) is a value here as well: the instance is
`broken`, and a broken rule never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from lazaretto.checks import sql
from lazaretto.checks.structure import (
    BuiltInFile,
    BuiltInSchema,
    BuiltInSchemaId,
    BuiltInUnparseable,
    BuiltInWindow,
    Schema,
)
from lazaretto.engine.paths import MissingColumn, Path, named_in_sql, resolve
from lazaretto.model.expression import columns_of
from lazaretto.model.fingerprint import rule_fingerprint, rule_set_fingerprint
from lazaretto.model.lookup import Lookup
from lazaretto.model.rule import Rule, Site
from lazaretto.model.schema import TableSchema, match
from lazaretto.model.suite import Suite
from lazaretto.model.words import OnError, OnFail, OnNull, Severity, Takes

CORRUPT_RECORD = "_corrupt_record"
"""Where Spark's readers put a line they could not parse."""
RAW_VALUE = "_raw_value"
"""The bytes of a message that could not be read."""
SCHEMA_ID = "_schema_id"
"""The schema id of a framed message, where it is missing or unknown."""
_READ_FROM: dict[type[Rule], str] = {BuiltInUnparseable: CORRUPT_RECORD, BuiltInSchemaId: SCHEMA_ID}
"""Rules about how a row was read, and the column that says what went wrong; without it they judge nothing."""


@dataclass(frozen=True)
class Instance:
    """One rule at one place: the unit that gets a bit."""

    rule: Rule
    columns: tuple[str, ...]
    """The columns it is about, as users call them."""
    ok: str
    """Total SQL: the row is right as far as this instance is concerned."""
    applies: str | None
    """SQL of `where`, or None where every row is meant."""
    shown: str
    """The demand as a person reads it, without the machinery around it."""
    actual: str
    """SQL of what was found, as text."""
    on_fail: OnFail
    fingerprint: str
    version: str
    broken: str | None = None
    """Why it cannot be evaluated at all."""
    lacks_column: bool = False
    """Broken because the table has no such column."""
    verdict: bool | None = None
    """Known before any row is read (checks of the schema)."""
    finding: str | None = None
    """What such a check found."""
    lookup: int | None = None
    """Number of the lookup it needs, in `Plan.lookups`."""

    @property
    def column(self) -> str | None:
        """The column to name in a result; several are joined."""
        return ", ".join(self.columns) or None


@dataclass(frozen=True)
class Plan:
    """All instances of a suite against one schema, and the lookups they share."""

    suite: Suite
    instances: tuple[Instance, ...]
    lookups: tuple[Lookup, ...]
    fingerprint: str

    def and_also(self, instances: tuple[Instance, ...]) -> Plan:
        """The same plan with further instances."""
        return replace(self, instances=self.instances + instances)

    def breaking(self, reasons: dict[int, str]) -> Plan:
        """The same plan with some instances known to be impossible to evaluate."""
        instances = tuple(
            replace(instance, broken=reasons[number]) if number in reasons else instance
            for number, instance in enumerate(self.instances)
        )
        return replace(self, instances=instances)


def plan(
    suite: Suite,
    schema: TableSchema | None,
    *,
    now: str = "current_timestamp()",
    today: date,
    incompatible: str | None = None,
) -> Plan:
    """Lay out every active rule of a suite over a table of this schema (or, without one, over any).

    `incompatible` says why the table cannot be written where the rows should go; it is a finding of `lz.schema`.
    """
    lookups: list[Lookup] = []
    instances = [
        _instance(suite, rule, columns, schema, now, today, lookups)
        for rule in _with_built_ins(suite, schema)
        for columns in _placements(rule)
    ]
    if schema is not None:
        instances = _judge_structure(instances, incompatible)
    return Plan(suite, tuple(instances), tuple(lookups), rule_set_fingerprint(suite))


def _with_built_ins(suite: Suite, schema: TableSchema | None) -> list[Rule]:
    """The suite's rules, and those that Lazaretto brings itself where the suite did not configure them."""
    rules = [rule for rule in suite.rules if rule.active]
    named = {rule.id for rule in suite.rules}
    if BuiltInSchema.name not in named:
        rules.append(BuiltInSchema(id=BuiltInSchema.name, severity=Severity.HIGH))
    there = [k for k, column in _READ_FROM.items() if schema is not None and match(schema.columns, column) is not None]
    rules += [kind(id=kind.name, severity=Severity.HIGH) for kind in there if kind.name not in named]
    # What is known of a file is brought by whoever looked at it.
    asked_before = (BuiltInFile, BuiltInWindow)
    return [r for r in rules if (type(r) not in _READ_FROM or type(r) in there) and not isinstance(r, asked_before)]


def _placements(rule: Rule) -> Sequence[tuple[str, ...]]:
    if rule.takes is Takes.ONE:
        return [(column,) for column in rule.targets]
    return [rule.targets]


def _instance(
    suite: Suite,
    rule: Rule,
    columns: tuple[str, ...],
    schema: TableSchema | None,
    now: str,
    today: date,
    lookups: list[Lookup],
) -> Instance:
    bare = Instance(
        rule=rule,
        columns=columns,
        ok="true",
        applies=rule.where,
        shown="",
        actual="cast(NULL as string)",
        on_fail=rule.on_fail_at(today),
        fingerprint=rule_fingerprint(rule),
        version=suite.rule_version(rule),
    )
    if rule.judges_schema:
        return _judged_by_schema(bare, rule, schema)
    if (read_from := _READ_FROM.get(type(rule))) is not None:
        columns = (read_from,)
    try:
        paths = [resolve(column, schema) for column in columns]
        _see_that_all_exist(rule, schema)
        found, lookup = _enter_lookup(rule, paths, schema, lookups)
        actual = _actual(rule, columns, paths, schema)
        passes = _passes(rule, paths, schema, now, found)
    except (MissingColumn, Misfit) as problem:
        missing = isinstance(problem, MissingColumn)
        return replace(bare, broken=str(problem), lacks_column=missing, shown=rule.expects())
    undecided = "true" if rule.on_null is OnNull.PASS else "false"
    ok = f"coalesce(({passes}), {undecided})"
    if rule.where:
        ok = f"CASE WHEN coalesce(({rule.where}), false) THEN {ok} ELSE true END"
    return replace(bare, ok=ok, shown=_shown(rule, columns, passes), actual=actual, lookup=lookup)


class Misfit(TypeError):
    """The check cannot be applied to a column of this type."""


def _passes(rule: Rule, paths: list[Path], schema: TableSchema | None, now: str, found: str) -> str:
    def other(name: str) -> tuple[str, str | None]:
        path = resolve(name, schema)
        return path.sql, path.type

    def at(value: str, type_name: str | None) -> str:
        site = Site(value, type_name, tuple(path.sql for path in paths), now, found, other)
        return rule.passes(site)

    if len(paths) != 1 or rule.takes is Takes.MANY:
        return at("", None)
    path = paths[0]
    if reason := rule.misfit(path.leaf_type):
        raise Misfit(reason)
    if path.inner is None:
        return at(path.sql, path.type)
    # NULL elements are decided one by one, so that one undecided element does not hide a wrong one.
    undecided = "true" if rule.on_null is OnNull.PASS else "false"
    return path.holds(lambda value: f"coalesce(({at(value, path.leaf_type)}), {undecided})")


def _see_that_all_exist(rule: Rule, schema: TableSchema | None) -> None:
    """Columns that only the SQL of a rule names: Spark would refuse the whole query for one of them."""
    if schema is None:
        return
    for name in rule.mentions():
        resolve(name, schema)
    for text in rule.expressions():
        for parts in columns_of(text):
            named_in_sql(parts, schema)


def _enter_lookup(
    rule: Rule, paths: list[Path], schema: TableSchema | None, lookups: list[Lookup]
) -> tuple[str, int | None]:
    """SQL that is true where the reference has the key, NULL where the key itself is missing."""
    lookup = rule.lookup()
    if lookup is None:
        return "", None
    if any(path.inner for path in paths):
        raise Misfit(f"the check {rule.check} cannot look up the elements of an array")
    if lookup not in lookups:
        lookups.append(lookup)
    number = lookups.index(lookup)
    any_null = " OR ".join(f"{path.sql} IS NULL" for path in paths)
    hit = hit_column(number)
    if lookup.event_time is None:
        return f"CASE WHEN {any_null} THEN NULL ELSE {hit} IS NOT NULL END", number
    moment = resolve(lookup.event_time, schema).sql
    valid = (
        f"exists({hit}, lz_p -> (lz_p.since IS NULL OR {moment} >= lz_p.since)"
        f" AND (lz_p.until IS NULL OR {moment} < lz_p.until))"
    )
    return f"CASE WHEN {any_null} THEN NULL WHEN {hit} IS NULL THEN false ELSE {valid} END", number


def hit_column(lookup: int) -> str:
    """Name of the helper column that is not NULL where the reference has the key of the row."""
    return f"lz_hit_{lookup}"


def _judged_by_schema(bare: Instance, rule: Rule, schema: TableSchema | None) -> Instance:
    if schema is None or not isinstance(rule, Schema):
        return replace(bare, shown=rule.expects(), verdict=True)
    finding = rule.judge({column.name: column.type for column in schema.columns})
    return replace(bare, shown=rule.expects(), verdict=finding is None, finding=finding)


def _judge_structure(instances: list[Instance], incompatible: str | None) -> list[Instance]:
    """`lz.schema` fails once for all columns that rules need and the table lacks, and for a target that is no match."""
    found = [
        i.broken for i in instances if i.broken and i.rule.effective_on_error is not OnError.WARN and i.lacks_column
    ]
    found += [incompatible] if incompatible else []
    if not found:
        return instances
    finding = "; ".join(dict.fromkeys(found))
    return [replace(i, verdict=False, finding=finding) if isinstance(i.rule, BuiltInSchema) else i for i in instances]


def _actual(rule: Rule, columns: tuple[str, ...], paths: list[Path], schema: TableSchema | None) -> str:
    """SQL that shows what was found; hidden where showing it would be the harm."""
    if rule.hides_value:
        return "'[hidden]'"
    if len(paths) == 1:
        return shown_value(paths[0].sql, paths[0].type)
    named = list(zip(columns, paths, strict=True)) or [
        (".".join(parts), named_in_sql(parts, schema))
        for text in rule.expressions()
        for parts in dict.fromkeys(columns_of(text))
    ]
    if not named:
        return "cast(NULL as string)"
    pieces = [f"{sql.text(name + '=')}, coalesce({shown_value(p.sql, p.type)}, 'NULL')" for name, p in named]
    return "concat(" + ", ', ', ".join(pieces) + ")"


def shown_value(value: str, type_name: str | None, limit: int = 1000) -> str:
    """SQL of a value as text of bounded length."""
    if sql.is_nested(type_name):
        return f"left(to_json({value}), {limit})"
    if type_name == "binary":
        return f"left(hex({value}), {limit})"
    return f"left(cast({value} as string), {limit})"


def _shown(rule: Rule, columns: tuple[str, ...], passes: str) -> str:
    lookup = rule.lookup()
    if lookup is None:
        return passes
    of = f" WHERE {lookup.reference.where}" if lookup.reference.where else ""
    keys = ", ".join(lookup.keys)
    # For people to read; the engine joins instead.
    return f"({', '.join(columns)}) IN (SELECT {keys} FROM {lookup.reference}{of})"  # noqa: S608
