"""`lazaretto deadletter`: rows that could not be judged or written for reasons of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.bench import own_session, workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.choose import WhyOption, deed_of
from lazaretto.model.lifecycle import Step

if TYPE_CHECKING:
    from pathlib import Path

deadletter = typer.Typer(no_args_is_help=True, help="Rows that no table can hold: what they were, and why.")

_SHOWN = (
    "record_id",
    "asset",
    "source_table",
    "source_position",
    "record_key",
    "payload_hash",
    "status",
    "run_id",
    "batch_id",
    "quarantined_at",
    "error",
)


@deadletter.callback()
def _deadletter() -> None:
    """Rows that no table can hold: what they were, and why."""


@deadletter.command("list")
def list_dead(
    asset: Annotated[str | None, typer.Option(help="Of this table only.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List dead letters, the latest first."""
    found = _found("asset = :wanted" if asset else "true", asset, env, project)
    if output is Output.json:
        print_json(found)
        return
    for letter in found:
        error = letter["error"] or {}
        where = letter["source_position"] or letter["source_table"]
        typer.echo(f"{letter['record_id'][:12]}  {letter['asset']}  {where}  {error.get('class')}")
    if not found:
        typer.echo("there are no dead letters")


@deadletter.command("show")
def show_dead(
    record: Annotated[str, typer.Argument(help="Id of the record, or how it begins.")],
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Show what is kept of a dead letter: position, key, hash, and the error with its stack."""
    found = _found("startswith(record_id, :wanted)", record, env, project)
    if len(found) != 1:
        raise typer.BadParameter(f"{len(found)} dead letters begin with {record!r}", param_hint="RECORD")
    if output is Output.json:
        print_json(found[0])
        return
    for name, value in found[0].items():
        for inner, text in value.items() if isinstance(value, dict) else [("", value)]:
            typer.echo(f"{f'{name} {inner}'.strip():<16} {'' if text is None else text}")


@deadletter.command()
def retry(
    records: Annotated[list[str], typer.Argument(help="Ids of dead letters, or their beginnings.")],
    why: WhyOption = "",
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Read the rows of dead letters again from their source, and send them through the front door.

    A row that can be held now is judged like any other; one that still cannot comes back as a dead letter, one attempt
    older. Where the source no longer has it, the record says so.
    """
    from lazaretto.checks import sql
    from lazaretto.cli.recycle import send_back
    from lazaretto.config.suites import load_suites
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.review import act, resolved, see_table

    with workbench("deadletter retry", project, env) as (bench, home):
        for line in finish_open(bench.spark, home, env).told():
            typer.echo(line, err=True)
        see_table(bench)
        named = sql.literals(resolved(bench, records).values(), "string")
        chosen = bench.spark.sql(
            f"SELECT record_id, asset FROM delta.`{bench.places.records}` "  # noqa: S608 - ids and a path of ours
            f"WHERE place = 'dead_letter' AND record_id IN ({named})"
        )
        letters = chosen.collect()
        if missing := len(set(records)) - len(letters):
            raise typer.BadParameter(f"{missing} of these records are no dead letters", param_hint="RECORDS")
        act(bench, chosen.select("record_id"), deed_of(Step.RESUBMIT, why))
        assets = {letter["asset"] for letter in letters}
        suites = [suite for suite in load_suites(None, env, home).suites if suite.asset in assets]
        raise typer.Exit(send_back(bench, suites, env, output))


def _found(condition: str, wanted: str | None, env: str | None, project: Path | None) -> list[dict[str, Any]]:
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.places import Places
    from lazaretto.quarantine.records import exists

    places = Places.of(load_project(project, env))
    with own_session("lazaretto deadletter") as spark:
        if not exists(spark, places.records):
            return []
        rows = spark.sql(
            f"SELECT {', '.join(_SHOWN)} FROM delta.`{places.records}` "  # noqa: S608 - names of ours only
            f"WHERE place = 'dead_letter' AND {condition} ORDER BY quarantined_at DESC, record_id",
            args={"wanted": wanted} if wanted else {},
        )
        return [row.asDict(recursive=True) for row in rows.collect()]
