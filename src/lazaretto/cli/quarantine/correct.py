"""`lazaretto quarantine correct`: right values beside the wrong ones, typed and tried before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.choose import WhyOption


def correct(
    record: Annotated[str | None, typer.Argument(help="Id of the record, or its beginning.")] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", help="COLUMN=VALUE, JSON for nested ones; repeatable.")
    ] = None,
    nulls: Annotated[list[str] | None, typer.Option("--set-null", help="COLUMN to be NULL; repeatable.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Many at once: CSV with record_id and columns, or JSON Lines {record_id, set}."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether today's rules would pass it.")] = False,
    why: WhyOption = "",
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Correct records and say whether they would pass today's rules. `lazaretto recycle` sends them.

    A value that does not fit its column's type is refused. The original row stays as it was.
    """
    from lazaretto.model.lifecycle import Step
    from lazaretto.pipeline.correcting import from_file, prepare, preview
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.person import here
    from lazaretto.pipeline.review import act
    from lazaretto.quarantine.transitions import Deed

    if (file is None) == (record is None) or (record is not None and not (values or nulls)):
        raise typer.BadParameter("expected a record with --set COLUMN=VALUE, or --file with many")
    given = from_file(file) if file is not None else {str(record): _pairs(values or [], nulls or [])}
    person = here()
    with workbench("quarantine correct", project, env) as (bench, home):
        for line in finish_open(bench.spark, home, env).told():
            typer.echo(line, err=True)
        chosen = prepare(bench, given)
        told = preview(bench, home, env, chosen)
        done = None
        if not dry_run:
            done = act(bench, chosen, Deed(Step.CORRECT, person.name, why, assurance=person.assurance))
    if output is Output.json:
        print_json({"corrected": 0 if done is None else done.count, "preview": [each.to_dict() for each in told]})
        return
    for each in told[:20]:
        faults = "; ".join(f"{rule}: {message}" for rule, message in each.failures)
        typer.echo(
            f"{each.record_id[:12]}  would {'pass' if each.passes else 'fail again'}{': ' * bool(faults)}{faults}"
        )
    passing = sum(each.passes for each in told)
    typer.echo(
        f"{passing:,} of {len(told):,} would pass today's rules; {'nothing was changed' if dry_run else 'corrected'}"
    )


def _pairs(values: list[str], nulls: list[str]) -> dict[str, str | None]:
    given: dict[str, str | None] = dict.fromkeys(nulls)
    for pair in values:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r}: expected COLUMN=VALUE", param_hint="--set")
        given[name] = value
    return given
