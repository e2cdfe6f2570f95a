"""A batch of the outbox as rows for the front door: payload opened or read again, correction laid over it, typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.secrets import resolve as resolve_secrets
from lazaretto.config.secrets import revealed
from lazaretto.engine.target import RESCUED
from lazaretto.model.errors import LazarettoError
from lazaretto.model.fingerprint import sha256
from lazaretto.model.rule import Rule
from lazaretto.model.seal import RECYCLE, SealedSource
from lazaretto.model.suite import Suite
from lazaretto.model.words import WriteMode
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.sources import ATTEMPT, ORIGINAL_RUN, RECORD, REFUSED, Taken
from lazaretto.quarantine.fields import Field, fields_of
from lazaretto.quarantine.outbox import entries
from lazaretto.quarantine.payload import MASK, PayloadPolicy, decoded, hash_sql, key_sql, opened, overlaid, payload_sql
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CARRIED = (RECORD, ATTEMPT, ORIGINAL_RUN, REFUSED)
_MAP = "map<string, variant>"
_EXACT = "decimal(38,18)"


class CannotReopen(LazarettoError):
    """The rows of some records cannot be had as the suite is now; the message says what is missing."""


def as_judged(suite: Suite) -> Suite:
    """The suite for corrected rows: they are added whatever it does else, and some of its rules skip them."""
    rules: tuple[Rule, ...] = tuple(rule for rule in suite.rules if rule.recycled != "skip")
    return suite.model_copy(update={"rules": rules, "write": WriteMode.APPEND})


def taken(bench: Bench, suite: Suite, version: int) -> Taken:
    """The rows of a batch of the outbox."""
    outbox = bench.places.outbox
    source = SealedSource(
        name=f"{bench.places.schema}.outbox",
        kind=RECYCLE,
        path=outbox,
        table_id=DeltaLogs(bench.spark).facts(outbox).id,
        version=version,
    )
    frame = rows_of(bench, suite, entries(bench.spark, outbox, version))
    return Taken(frame, source, CARRIED, RECORD)


def rows_of(bench: Bench, suite: Suite, sent: DataFrame) -> DataFrame:
    """Every entry as a row of the source, with what it carries. What cannot be read right is said in `lz_refused`.

    `sent` has the columns of the outbox.
    """
    groups = sent.groupBy("payload_schema", "payload_policy").agg({"quarantined_at": "max"}).collect()
    newest = sorted((g for g in groups if g["payload_schema"]), key=lambda g: str(g[2]), reverse=True)
    schemas = list(dict.fromkeys(g["payload_schema"] for g in newest))
    policies = {PayloadPolicy(g["payload_policy"] or "inline") for g in groups}
    fields = _united(bench, suite, schemas)
    if PayloadPolicy.REFERENCE in policies:
        sent = _read_again(bench, suite, sent)
    base = _opened(suite, schemas) if PayloadPolicy.ENCRYPTED in policies else "payload"
    row = f"CASE WHEN correction IS NULL THEN {base} ELSE {overlaid(f'({base})', 'correction')} END"
    if PayloadPolicy.REFERENCE in policies:  # nothing to lay a correction over, where the row is lost
        row = f"CASE WHEN payload IS NOT NULL THEN {row} END"
    prepared = sent.selectExpr(
        f"record_id AS {RECORD}",
        f"attempt AS {ATTEMPT}",
        f"run_id AS {ORIGINAL_RUN}",
        f"{row} AS lz_row",
        "correction",
        "payload_policy",
        "payload_schema",
    )
    columns = decoded([(f.name, f.form) for f in fields], "lz_row")
    listed = [f"{value} AS {sql.identifier(name)}" for name, value in columns]
    refused = _refused(fields, dict(columns), schemas, _lost(suite))
    return prepared.selectExpr(*listed, RECORD, ATTEMPT, ORIGINAL_RUN, f"{refused} AS {REFUSED}")


def _united(bench: Bench, suite: Suite, schemas: list[str]) -> list[Field]:
    """The columns of all entries, the newest type of each, and those that the source has got since."""
    found: dict[str, Field] = {}
    for text in schemas:
        for field in fields_of(text):
            found.setdefault(field.name, field)
    for field in source_fields(bench, suite):
        found.setdefault(field.name, field)
    if not found:
        raise CannotReopen(f"nothing says what columns the rows of {suite.asset} have: give the suite a `source`")
    return list(found.values())


def source_fields(bench: Bench, suite: Suite) -> list[Field]:
    """The columns of the suite's source as it is declared today; else those of the asset that are not ours."""
    source, logs = suite.source, DeltaLogs(bench.spark)
    if source is not None and source.format == "delta":
        path = source.path or bench.places.located(bench.spark, str(source.table))
        if logs.exists(path):
            return list(fields_of(logs.facts(path).schema))
    if source is not None and source.schema_:
        from pyspark.sql.types import StructType

        return list(fields_of(StructType.fromDDL(source.schema_).json()))
    asset = bench.places.asset(bench.spark, suite)
    if not logs.exists(asset):
        return []
    ours = {*suite.operational_metadata, "_errors", "_warnings"}
    return [field for field in fields_of(logs.facts(asset).schema) if field.name not in ours]


def _opened(suite: Suite, schemas: list[str]) -> str:
    if suite.payload.key is None:
        raise CannotReopen(
            f"records of {suite.asset} are encrypted and the suite {suite.suite} names no key any more: "
            "give it back its `payload: {policy: encrypted, key: …}`"
        )
    key = key_sql(resolve_secrets(suite.payload.key).reveal())
    cases = []
    for text in schemas:
        fields = fields_of(text)
        rescued = RESCUED if any(f.name == RESCUED for f in fields) else None
        inside = opened([(f.name, f.form) for f in fields], "payload", key, rescued=rescued)
        cases.append(f"WHEN payload_schema = {sql.text(text)} THEN {inside}")
    return f"CASE WHEN payload_policy <> '{PayloadPolicy.ENCRYPTED}' THEN payload {' '.join(cases)} END"


def _lost(suite: Suite) -> str:
    """Why a row that was not kept cannot be had."""
    kind = suite.source.format if suite.source else "frame"
    if kind in ("delta", "parquet"):
        return "the row was not kept, and its source file no longer has it"
    return f"the row was not kept, and a {kind} source cannot be read again row by row"


def _refused(fields: list[Field], columns: dict[str, str], schemas: list[str], lost_row: str) -> str:
    """SQL of why a row must not be taken for what the person meant; NULL if it may. No values in it."""
    misfits = []
    for field in fields:
        shape = sql.text(f"struct<{sql.identifier(field.name)}: variant>")
        raw = f"try_variant_get(lz_row, '$', {shape}).{sql.identifier(field.name)}"
        lost = f"{columns[field.name]} IS NULL"
        kind = field.form if isinstance(field.form, str) else "nested"
        if kind in _WHOLE or kind.startswith("decimal"):  # VARIANT rounds without a word
            lost += f" OR try_variant_get({raw}, '$', '{_EXACT}') <> try_cast({columns[field.name]} as {_EXACT})"
        shown = field.form if isinstance(field.form, str) else str(field.form.get("type"))
        says = sql.text(f"{field.name} holds a value that does not fit {shown}")
        misfits.append(f"CASE WHEN NOT is_variant_null({raw}) AND ({lost}) THEN {says} END")
    names = ", ".join(sql.text(field.name) for field in fields)
    strange = (
        f"filter(map_keys(try_variant_get(correction, '$', '{_MAP}')), k -> NOT array_contains(array({names}), k))"
    )
    unknown = f"CASE WHEN size({strange}) > 0 THEN concat('there is no column ', {strange}[0]) END"
    hidden = f"exists(map_values(try_variant_get(lz_row, '$', '{_MAP}')), v -> try_cast(v as string) = '{MASK}')"
    masked = f"payload_policy = '{PayloadPolicy.MASKED}' AND {hidden}"
    # What was kept as it is, under the newest schema, needs no second look.
    newest = sql.text(schemas[0]) if schemas else "''"
    looked_at = f"correction IS NOT NULL OR NOT (payload_schema <=> {newest})"
    return (
        f"CASE WHEN lz_row IS NULL THEN {sql.text(lost_row)} "
        f"WHEN {masked} THEN 'a masked column was not given: correct it with --set' "
        f"WHEN {looked_at} THEN coalesce({unknown}, {', '.join(misfits)}) END"
    )


_WHOLE = ("byte", "short", "integer", "long", "tinyint", "smallint", "int", "bigint")


def _read_again(bench: Bench, suite: Suite, sent: DataFrame) -> DataFrame:
    """Entries that kept no row get it from the source file they came from, if a row of that hash is still there."""
    source, spark = suite.source, bench.spark
    wanted = sent.where("payload IS NULL")
    positions = [r[0] for r in wanted.select("source_position").distinct().collect() if r[0]]
    if source is None or not positions:
        return sent
    if source.format == "delta":
        path = source.path or bench.places.located(spark, str(source.table))
        reader: Any = spark.read.format("delta").options(**revealed(source.options)).load(path)
    elif source.format == "parquet":
        reader = spark.read.format("parquet").options(**revealed(source.options)).load(str(source.path))
    else:
        return sent
    names = ", ".join(sql.text(position) for position in positions)
    found = reader.where(f"_metadata.file_path IN ({names})")
    fields = fields_of(found.schema.json())
    rescued = RESCUED if any(f.name == RESCUED for f in fields) else None
    rows = found.selectExpr(
        f"{hash_sql(fields, rescued=rescued)} AS lz_hash", f"{payload_sql(fields, rescued=rescued)} AS lz_again"
    ).dropDuplicates(["lz_hash"])
    joined = sent.join(rows, sent["payload_hash"] == rows["lz_hash"], "left")
    kept = [sql.identifier(name) for name in sent.columns if name != "payload"]
    return joined.selectExpr(*kept, "coalesce(payload, lz_again) AS payload")


def batch_of(suite: Suite, env: str | None, table_id: str, version: int) -> str:
    """The identity of a recycled batch: its commit in the outbox."""
    return sha256([suite.suite, env, suite.asset, RECYCLE, [table_id, version], {}])
