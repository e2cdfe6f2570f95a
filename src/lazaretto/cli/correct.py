"""`lazaretto correct`: the project's corrections, tried on the records that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.config.project import Project
    from lazaretto.model.correction import Correction
    from lazaretto.pipeline.attempted import Attempted, Example


def correct(
    dataset: Annotated[str | None, typer.Argument(help="Only records of this table; else of all.")] = None,
    correction: Annotated[str | None, typer.Option("--correction", help="Only this one, by its id.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show before and after; change nothing.")] = False,
    counts: Annotated[
        bool, typer.Option("--counts", help="Only say what each correction tried and mended so far; needs no Spark.")
    ] = False,
    show: Annotated[int, typer.Option("--show", min=0, help="How many records a dry run shows.")] = 10,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Try the corrections of corrections/*.yml on the records in the quarantine.

    A correction is applied only if the record then passes all of today's rules. Such a record is CORRECTED and waits
    for the next recycle; all others stay as they are. What was tried is counted in the evidence.
    """
    from lazaretto.cli.bench import workbench
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.corrections import chosen, corrections_of
    from lazaretto.pipeline.corrections import correct as carry_out
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.person import here

    home = load_project(project, env)
    loaded = corrections_of(home, env)
    wanted = chosen(loaded.corrections, dataset, correction)
    if counts:
        _count(home, env, wanted, output)
        return
    if not wanted:
        typer.echo("[]" if output is Output.json else "the project has no corrections: write corrections/*.yml")
        return
    with workbench("correct", project, env) as (bench, _):
        if not dry_run:
            for line in finish_open(bench.spark, home, env).told():
                typer.echo(line, err=True)
        done = [
            carry_out(bench, asset, ones, loaded.suites, person=here(), dry_run=dry_run, examples=show)
            for asset, ones in wanted.items()
        ]
    if output is Output.json:
        print_json([one.to_dict() for one in done])
        return
    for one in done:
        _show(one)


def _count(home: Project, env: str | None, wanted: dict[str, tuple[Correction, ...]], output: Output) -> None:
    from lazaretto.pipeline.attempts import so_far
    from lazaretto.pipeline.control import open_project_store

    with open_project_store(home, env, create=False) as store:
        lines = so_far(store, wanted)
    if output is Output.json:
        print_json(lines)
        return
    _table(
        ("dataset", "correction", "version", "fingerprint", "tried", "succeeded", "last (UTC)", ""),
        [
            (
                line["asset"],
                line["id"],
                line["version"],
                line["fingerprint"][:12],
                f"{line['tried']:,}",
                f"{line['succeeded']:,}",
                (line["last"] or "never")[:16].replace("T", " "),
                "" if line["current"] else "no longer so written",
            )
            for line in lines
        ],
    )


def _show(done: Attempted) -> None:
    n = done.passing if done.dry_run else done.corrected
    verb = "would be corrected" if done.dry_run else "corrected"
    typer.echo(f"{done.asset}: {done.tried:,} records tried, {n:,} {verb}")
    for policy, count in done.illegible.items():
        typer.echo(f"  {count:,} records are not legible ({policy}): a person has to correct them")
    if overtaken := 0 if done.dry_run else done.passing - done.corrected:
        typer.echo(f"  {overtaken:,} records were changed by somebody meanwhile and left alone")
    _table(
        ("correction", "version", "tried", "applied", "passed", ""),
        [
            (
                count.correction.id,
                str(count.correction.version),
                f"{count.tried:,}",
                f"{count.applied:,}",
                f"{count.succeeded:,}",
                f"cannot be tried: {count.unusable}" if count.unusable else "",
            )
            for count in done.counts
        ],
    )
    for example in done.examples:
        _show_example(example)


def _show_example(example: Example) -> None:
    verdict = (
        "passes" if example.passes else "still fails: " + (", ".join(example.broken) or "a value is lost or masked")
    )
    typer.echo(f"{example.record_id[:12]}  {', '.join(example.corrections)}: {verdict}")
    typer.echo(f"    before {example.before}")
    typer.echo(f"    after  {example.after}")


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", justify="right" if heading in _NUMBERS else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table, soft_wrap=True)


_NUMBERS = ("tried", "applied", "passed", "succeeded")
