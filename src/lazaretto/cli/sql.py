"""`lazaretto sql`: look into the quarantine, and change records, with plain SQL."""

from __future__ import annotations

import csv
import getpass
import itertools
import json
import logging
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, ProjectOption

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 1000
"""Rows a table for the terminal shows; whoever wants more wants a file."""


class Output(StrEnum):
    """How the rows are printed."""

    table = "table"
    csv = "csv"
    json = "json"


def sql_command(
    statement: Annotated[str, typer.Argument(help="One SQL statement, in quotes.")],
    output: Annotated[Output, typer.Option("--output", help="How to print the rows.")] = Output.table,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Run SQL on the quarantine: inbox, dead_letter, universal_dlq, quarantine_<schema>_<table>.

    UPDATE, DELETE and INSERT on inbox, dead_letter and universal_dlq change the records behind them. Tables
    of the lake can be read as schema.table.
    """
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.places import Places
    from lazaretto.quarantine.sql import one_sentence, run_sql
    from lazaretto.quarantine.statement import Names
    from lazaretto.spark import session
    from lazaretto.spark.files import Files
    from lazaretto.spark.frames import query_logger

    loaded = load_project(project, env)
    places = Places.of(loaded)
    # PySpark logs every failed statement with its stack; we say it in a sentence.
    query_logger().setLevel(logging.CRITICAL)
    spark = session("lazaretto sql")
    files = Files(spark)
    for line in finish_open(spark, loaded, env).told():
        typer.echo(line, err=True)

    def table_path(schema_name: str, table: str) -> str | None:
        path = places.table(f"{schema_name}.{table}")
        return path if files.exists(f"{path}/_delta_log") else None

    outcome = run_sql(
        spark,
        statement,
        places.records,
        user=getpass.getuser(),
        outbox_path=places.outbox,
        names=Names(places.schema, table_path),
    )
    if outcome.affected is not None:
        _print_affected(outcome.affected, output)
        return
    assert outcome.frame is not None
    with one_sentence():
        print_rows(outcome.frame, output)


def print_rows(frame: DataFrame, output: Output) -> None:
    """Print the rows of a query."""
    from lazaretto.spark.plain import plain

    names = _distinct(frame.columns)
    rows = ([plain(value) for value in row] for row in frame.toLocalIterator())
    if output is Output.json:
        found = [dict(zip(names, row, strict=True)) for row in rows]
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False, default=str))
    elif output is Output.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(value) for value in row] for row in rows)
    else:
        _print_table(names, rows)


def _print_affected(count: int, output: Output) -> None:
    if output is Output.json:
        typer.echo(json.dumps({"affected": count}))
    else:
        typer.echo(f"{count} record{'' if count == 1 else 's'} changed", err=output is Output.csv)


def _print_table(names: list[str], rows: Iterator[list[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(header_style="bold")
    for name in names:
        table.add_column(Text(name), overflow="fold")
    count = 0
    for row in itertools.islice(rows, _SHOWN):
        table.add_row(*(Text("NULL", style="dim") if value is None else Text(_cell(value)) for value in row))
        count += 1
    if names:
        console.print(table)
    more = next(rows, None) is not None
    console.print(f"the first {count} rows; all of them with --output csv" if more else f"{count} rows", style="dim")


def _distinct(names: Iterable[str]) -> list[str]:
    """Names of columns, the second of a name marked so: a JSON object has each only once."""
    found: list[str] = []
    for name in names:
        same = sum(1 for other in found if other == name or other.startswith(f"{name}_"))
        found.append(f"{name}_{same + 1}" if name in found else name)
    return found


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
