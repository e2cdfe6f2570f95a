"""Corrections → rows as they would be with them, as one lazy plan.

Each correction is a few projections over all rows: which rows it is meant for, one for each step, and whether what
came out fits the columns. Wherever a step throws, gives NULL or has no answer, the row gets back what it had: a
correction is applied as a whole or not at all. Nothing is decided here about whether the result is good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.paths import MissingColumn, named_in_sql, resolve
from lazaretto.engine.references import MissingReference, ReadReference, as_key
from lazaretto.model.correction import Correction, Fetch, Transformation
from lazaretto.model.expression import columns_of
from lazaretto.model.rule import Site
from lazaretto.model.schema import Column as ColumnShape
from lazaretto.model.schema import TableSchema, match
from lazaretto.spark.delta_log import ddl
from lazaretto.spark.frames import error_class, estimated_bytes, hushed
from lazaretto.spark.tries import tried
from lazaretto.transformations.types import exactly

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BROKEN = "lz_broken"
"""array<string>: the rules that a row broke."""
UNFIT = "lz_unfit"
"""map<string,string>: the columns whose value is there but does not fit their type, as it was written (NULL: hidden).
What is left of it afterwards is not in the row."""
TRIED = "lz_tried"
"""array<int>: positions of the corrections that were meant for a row."""
APPLIED = "lz_applied"
"""array<int>: positions of those that gave it other values."""
CHANGED = "lz_changed"
"""array<string>: the columns that were given other values."""

HELPERS = (BROKEN, UNFIT, TRIED, APPLIED, CHANGED)

_MENDED = "lz_mended"
_GO, _SAVED, _STEP, _FOUND, _DONE = "lz_go", "lz_saved", "lz_step", "lz_found", "lz_done"


class NotCorrectable(LookupError):
    """A correction that these rows can never take."""


@dataclass(frozen=True)
class Corrected:
    """The rows with all corrections applied that can be, and what was tried on each. Nothing has run yet."""

    frame: DataFrame
    """The columns as before, with the same types, and the helpers."""
    unusable: Mapping[int, str]
    """Corrections that cannot be tried on such rows at all, by position, and why."""


def corrected(
    frame: DataFrame,
    corrections: tuple[Correction, ...],
    read: ReadReference,
    broadcast_below: int,
    carried: tuple[str, ...] = (),
) -> Corrected:
    """Apply corrections in their order; of several for the same broken rule the first that can be applied counts.

    The frame has `BROKEN` and `UNFIT` besides the row; `carried` are further helper columns that are not of the row.
    """
    from pyspark.errors import PySparkException

    nothing = {
        TRIED: "cast(array() as array<int>)",
        APPLIED: "cast(array() as array<int>)",
        CHANGED: "cast(array() as array<string>)",
        _MENDED: "cast(array() as array<string>)",
    }
    frame = frame.selectExpr("*", *(f"{value} AS {name}" for name, value in nothing.items()))
    unusable: dict[int, str] = {}
    for number, correction in enumerate(corrections):
        attempt = _Attempt(number, correction, read, broadcast_below, (*HELPERS, _MENDED, *carried))
        try:
            with hushed():
                frame = attempt.on(frame)
        except (MissingColumn, MissingReference, NotCorrectable) as problem:
            unusable[number] = str(problem)
        except PySparkException as error:
            unusable[number] = f"Spark refuses its expressions ({error_class(error)})"
    return Corrected(frame.drop(_MENDED), unusable)


@dataclass(frozen=True)
class _Attempt:
    """One correction on its way over the rows."""

    number: int
    correction: Correction
    read: ReadReference
    broadcast_below: int
    helpers: tuple[str, ...]

    def on(self, frame: DataFrame) -> DataFrame:
        """The rows after it."""
        schema = self._schema(frame)
        columns = self._columns(schema)
        types = {f["name"]: ddl(f["type"]) for f in frame.schema.jsonValue()["fields"]}
        self._see_that_all_exist(schema)
        frame = self._meant(frame)
        frame = self._saved(frame, columns)
        for step in self.correction.transformations:
            frame = self._stepped(frame, step, columns[step.column].name)
        return self._settled(frame, list(columns.values()), types)

    def _schema(self, frame: DataFrame) -> TableSchema:
        whole = frame.schema.jsonValue()
        helpers = (*self.helpers, _GO, _SAVED, _STEP, _FOUND, _DONE)
        return TableSchema.from_json({"fields": [f for f in whole["fields"] if f["name"] not in helpers]})

    def _columns(self, schema: TableSchema) -> dict[str, ColumnShape]:
        """The columns that are changed, by the names written."""
        found = {}
        for name in self.correction.columns:
            column = match(schema.columns, name.strip("`") if name.startswith("`") else name)
            if column is None:
                resolve(name, schema)  # MissingColumn, unless it is a part of one
                raise NotCorrectable(f"{name} is part of a column; a step changes whole columns")
            found[name] = column
        return found

    def _see_that_all_exist(self, schema: TableSchema) -> None:
        where = self.correction.match.where
        steps = self.correction.transformations
        for text in (*((where,) if where else ()), *(text for step in steps for text in step.expressions())):
            for parts in columns_of(text):
                named_in_sql(parts, schema)
        for step in steps:
            for name in step.mentions():
                resolve(name, schema)

    def _meant(self, frame: DataFrame) -> DataFrame:
        """Mark the rows that the correction is meant for."""
        rules, where = self.correction.match.rules, self.correction.match.where or "true"
        listed = ", ".join(map(sql.text, rules))
        broken = (
            f"exists(array({listed}), lz_r -> array_contains({BROKEN}, lz_r) AND NOT array_contains({_MENDED}, lz_r))"
            if rules
            else "true"
        )
        asked = tried(
            frame.sparkSession,
            f"CASE WHEN spark_partition_id() >= 0 AND {broken} THEN coalesce(({where}), false) END",
        )
        marked = frame.select("*", asked.alias(_STEP)).selectExpr("*", f"coalesce({_STEP}, false) AS {_GO}").drop(_STEP)
        return _with(marked, {TRIED: f"if({_GO}, array_append({TRIED}, {self.number}), {TRIED})"})

    def _saved(self, frame: DataFrame, columns: Mapping[str, ColumnShape]) -> DataFrame:
        """Remember what the columns hold, and lay out as text what is read as text."""
        texts = {}
        for written, column in columns.items():
            first = next(s for s in self.correction.transformations if s.column == written)
            if first.reads_text and sql.is_nested(column.type):
                raise NotCorrectable(f"{first.name} works on text, not on {column.name}, which is {column.type}")
            if first.reads_text and not sql.is_text(column.type):
                value = sql.identifier(column.name)
                texts[column.name] = f"coalesce(cast({value} as string), {UNFIT}[{sql.text(column.name)}])"
        kept = ", ".join(f"'c{n}', {sql.identifier(c.name)}" for n, c in enumerate(columns.values()))
        return _with(frame.selectExpr("*", f"named_struct({kept}) AS {_SAVED}"), texts)

    def _stepped(self, frame: DataFrame, step: Transformation, name: str) -> DataFrame:
        """One step: the column has its result, and rows for which it had none are out."""
        schema = self._schema(frame)
        if (fetch := step.lookup()) is not None:
            frame = _fetched(frame, fetch, schema, self.read, self.broadcast_below)

        def other(written: str) -> tuple[str, str | None]:
            path = resolve(written, schema)
            return path.sql, path.type

        here = match(schema.columns, name)
        site = Site(sql.identifier(name), here.type if here else None, found=_FOUND, resolve=other)
        result = tried(
            frame.sparkSession,
            f"CASE WHEN spark_partition_id() >= 0 AND {_GO} AND coalesce(({step.applies(site)}), false) "
            f"THEN named_struct('v', {step.value(site)}) END",
        )
        answered = f"{_STEP} IS NOT NULL" + ("" if step.may_give_null else f" AND {_STEP}.v IS NOT NULL")
        return _with(frame.select("*", result.alias(_STEP)), {name: f"{_STEP}.v", _GO: answered}).drop(_STEP, _FOUND)

    def _settled(self, frame: DataFrame, columns: list[ColumnShape], types: Mapping[str, str]) -> DataFrame:
        """Give the columns their own types again: with the new values where all of them fit and something changed."""
        now = self._schema(frame)
        fitting, values, changes = [], [], []
        for number, column in enumerate(columns):
            value, wanted = sql.identifier(column.name), types[column.name]
            here = match(now.columns, column.name)
            given = here.type if here else None
            fitting.append("true" if given == column.type else exactly(value, given, wanted))
            values.append(f"'c{number}', {value if given == column.type else f'try_cast({value} as {wanted})'}")
            before, after = f"{_SAVED}.c{number}", f"{_DONE}.c{number}"
            if "map<" in column.type or "variant" in column.type:  # Spark does not compare these
                before, after = f"to_json({before})", f"to_json({after})"
            changes.append(f"NOT ({before} <=> {after}) OR map_contains_key({UNFIT}, {sql.text(column.name)})")
        done = tried(
            frame.sparkSession,
            f"CASE WHEN spark_partition_id() >= 0 AND {_GO} AND {' AND '.join(fitting)} "
            f"THEN named_struct({', '.join(values)}) END",
        )
        frame = _with(frame.select("*", done.alias(_DONE)), {_GO: f"{_DONE} IS NOT NULL AND ({' OR '.join(changes)})"})
        names = ", ".join(sql.text(column.name) for column in columns)
        rules = ", ".join(map(sql.text, self.correction.match.rules))
        settled = {
            column.name: f"if({_GO}, {_DONE}.c{number}, {_SAVED}.c{number})" for number, column in enumerate(columns)
        }
        settled |= {
            APPLIED: f"if({_GO}, array_append({APPLIED}, {self.number}), {APPLIED})",
            CHANGED: f"if({_GO}, array_union({CHANGED}, array({names})), {CHANGED})",
            UNFIT: f"if({_GO}, map_filter({UNFIT}, (lz_k, lz_v) -> lz_k NOT IN ({names})), {UNFIT})",
        }
        if rules:
            settled[_MENDED] = f"if({_GO}, array_union({_MENDED}, array({rules})), {_MENDED})"
        return _with(frame, settled).drop(_GO, _SAVED, _DONE)


def _with(frame: DataFrame, values: Mapping[str, str]) -> DataFrame:
    """The same columns in the same order, some with another value."""
    from pyspark.sql import functions as F

    def column(name: str) -> Column:
        quoted = sql.identifier(name)
        return F.expr(values[name]).alias(name) if name in values else F.expr(quoted)

    return frame.select(*map(column, frame.columns)) if values else frame


def _fetched(
    frame: DataFrame, fetch: Fetch, schema: TableSchema, read: ReadReference, broadcast_below: int
) -> DataFrame:
    """Add the value that a reference has for the key of each row; NULL where it has none, or several."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    reference = fetch.reference
    try:
        table = read(reference)
        size = estimated_bytes(table)
        if reference.where:
            table = table.where(reference.where)
        known = TableSchema.from_json(table.schema.jsonValue())
        keys = [resolve(name, known) for name in fetch.reference_key]
        taken = resolve(fetch.take, known)
        names = [f"lz_key_{number}" for number in range(len(keys))]
        columns = [F.expr(path.sql).alias(name) for path, name in zip(keys, names, strict=True)]
        grouped = table.select(*columns, F.expr(taken.sql).alias("lz_value")).groupBy(*names)
        values = grouped.agg(F.collect_set("lz_value").alias("lz_values"))
    except MissingColumn as error:
        raise MissingReference(f"in the reference {reference} {error}") from error
    except (PySparkException, Py4JError) as error:  # what pyspark has no name for comes as py4j's
        raise MissingReference(f"the reference {reference} cannot be read ({error_class(error)})") from error
    single: Any = values.selectExpr(*names, f"if(size(lz_values) = 1, lz_values[0], NULL) AS {_FOUND}")
    if size is not None:
        single = F.broadcast(single) if size <= broadcast_below else single.hint("shuffle_hash")
    conditions = [
        f"{as_key(resolve(column, schema), path.type or 'string')} = {name}"
        for column, path, name in zip(fetch.key, keys, names, strict=True)
    ]
    return frame.join(single, F.expr(" AND ".join(conditions)), "left").drop(*names)
