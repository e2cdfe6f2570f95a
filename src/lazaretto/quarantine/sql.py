# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Any SQL on the quarantine by the names people know: views made, names resolved, changes translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.quarantine.changes import translate
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.statement import Names, SqlError, chains, resolve, tokens_of
from lazaretto.quarantine.views import DATASET_PREFIX, RECORDS, register_views
from lazaretto.spark.lock import table_lock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CODE = re.compile(r"\A\s*(?:[\w.]*(?:Exception|Error):\s*)?\[[\w.]+\]\s*")
_TAIL = re.compile(r"\s*SQLSTATE: \w{5}.*\Z", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """What a statement gave: rows, or the number of records it changed."""

    frame: DataFrame | None = None
    affected: int | None = None


def run_sql(
    spark: SparkSession,
    statement: str,
    records_path: str,
    *,
    user: str,
    outbox_path: str | None = None,
    names: Names | None = None,
) -> Outcome:
    """Run one statement. SqlError says in a sentence what is wrong with it.

    Args:
        spark: the session; the views become temporary views of it.
        statement: any SQL; UPDATE, DELETE and INSERT on a view change the table behind it.
        records_path: where `quarantine.records` is.
        user: who changes records, for `updated_by`.
        outbox_path: where the outbox is.
        names: what qualified names mean, if more than the views.
    """
    resolved = resolve(statement, names or Names())
    words = {token.text.casefold() for chain in chains(tokens_of(resolved.text)) for token in chain}
    datasets = "show" in words or any(w.startswith(DATASET_PREFIX) and w != RECORDS for w in words)
    with one_sentence():
        register_views(spark, records_path, outbox_path=outbox_path, datasets=datasets)
        for view, path in resolved.tables.items():
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{view}` AS SELECT * FROM delta.{sql.identifier(path)}")
    change = translate(resolved.text, records_path, user)
    if change is None:
        with one_sentence():
            return Outcome(frame=spark.sql(_trimmed(resolved.text)))
    if not exists(spark, records_path):
        raise SqlError("nothing was ever quarantined here, so there is no record to change")
    with one_sentence(), table_lock(spark, records_path):
        row = spark.sql(change).first()
    return Outcome(affected=0 if row is None else int(row["num_affected_rows"]))


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what Spark raises into one sentence, without its plans and stack traces."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise SqlError(_sentence(str(error))) from None
    except Py4JJavaError as error:
        raise SqlError(_sentence(_root(error.java_exception))) from None


def _root(error: object) -> str:
    """The message of what went wrong first; jobs wrap it several times."""
    cause = error
    while (inner := cause.getCause()) is not None:  # type: ignore[attr-defined]
        cause = inner
    return str(cause.getMessage())  # type: ignore[attr-defined]


def _sentence(message: str) -> str:
    text = _TAIL.sub("", _CODE.sub("", message.strip()))
    return " ".join(text.splitlines()[0].split()) if text.strip() else "the statement failed"


def _trimmed(text: str) -> str:
    tokens = tokens_of(text)
    return text[: tokens[-1].end]
