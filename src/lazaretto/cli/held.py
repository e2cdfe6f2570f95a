"""`lazaretto held`: batches that the gate refused, and what people may do with them."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.bench import lake, workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.ends import Ended
    from lazaretto.pipeline.held import HeldBatch

held = typer.Typer(no_args_is_help=True, help="Batches that the gate refused.")

BatchArgument = Annotated[str, typer.Argument(help="Id of the batch, or its beginning.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it becomes evidence.")]
AskerOption = Annotated[
    str | None,
    typer.Option("--requested-by", help="Who asked, if not by `held request`; else who ran the batch. Never yourself."),
]


class Wish(StrEnum):
    """What can be asked for."""

    release = "release"
    discard = "discard"


@held.callback()
def _held() -> None:
    """Batches that the gate refused."""


@held.command("list")
def list_command(
    asset: Annotated[str | None, typer.Option(help="Only of this asset.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also those that wait no longer.")] = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List the batches that wait for somebody to release or discard them, the oldest first."""
    from lazaretto.pipeline.held import listing

    files, places = lake("held list", project, env)
    found = listing(files, places, asset, ended=ended)
    if output is Output.json:
        print_json([each.to_dict() for each in found])
        return
    for each in found:
        asked = f", {each.request.wish} asked for by {each.request.by}" if each.request else ""
        typer.echo(
            f"{each.seal.batch_id[:12]}  {each.seal.target.asset}  {each.seal.counts.input:,} rows  {each.state}  "
            f"{_age(each)}{asked}"
        )
    if not found:
        typer.echo("no batch is held")


@held.command()
def show(
    batch: BatchArgument,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Show a held batch: what is in it, why it is held, and what an approval has to name."""
    from lazaretto.config.project import load_project
    from lazaretto.gate.message import lines
    from lazaretto.pipeline.control import open_project_store
    from lazaretto.pipeline.held import find

    files, places = lake("held show", project, env)
    found = find(files, places, batch, ended=True)
    with open_project_store(load_project(project, env), env) as store:
        of_it = [s for s in store.decisions(found.seal.target.asset, limit=None) if s.batch_id == found.seal.batch_id]
        decision = store.decision(of_it[-1].decision_id) if of_it else None
    document = found.to_dict()
    if decision is not None:
        document |= {
            "decision_id": decision.decision_id,
            "action": decision.action.value,
            "reasons": list(decision.reasons),
            "held_by": list(decision.held_by),
        }
    if output is Output.json:
        print_json(document)
        return
    for name in ("batch_id", "asset", "suite", "suite_version", "run_id", "run_by", "state", "rows", "source"):
        typer.echo(f"{name.replace('_', ' '):14} {document[name]}")
    if found.request:
        typer.echo(f"{'asked':14} {found.request.wish} by {found.request.by}: {found.request.reason}")
    if found.resolution:
        typer.echo(f"{'approved by':14} {found.resolution.approval.approver}: {found.resolution.approval.reason}")
    typer.echo("\n" + ("\n".join(lines(decision)) if decision else "its decision is not in the store"))


@held.command()
def request(
    batch: BatchArgument,
    wish: Annotated[Wish, typer.Argument(help="What you ask for.")],
    reason: ReasonOption,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Ask that a batch be released or discarded; somebody else has to do it."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.held import request as ask
    from lazaretto.pipeline.person import here

    files, places = lake("held request", project, env)
    asked = ask(files, places, batch, wish.value, here(load_project(project, env)), reason)
    typer.echo(f"{asked.by} asks to {asked.wish} batch {batch}; now somebody else has to approve")


@held.command()
def release(
    batch: BatchArgument,
    reason: ReasonOption,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", help="A rule the approval tolerates; without any: all that hold the batch."),
    ] = None,
    requested_by: AskerOption = None,
    reevaluate: Annotated[
        bool, typer.Option("--reevaluate", help="Judge the source again by today's rules; this batch is superseded.")
    ] = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Publish a held batch as it was judged, under your approval: PUBLISHED_DEGRADED, its rejects quarantined.

    You approve as the user of the operating system, and cannot be the one who asked. Exit 1: it may not go.
    """
    from lazaretto.config.suites import suite_named
    from lazaretto.pipeline.held import find
    from lazaretto.pipeline.held import release as let_go
    from lazaretto.pipeline.person import here
    from lazaretto.pipeline.reevaluate import reevaluate as judge_again

    with workbench("held release", project, env) as (bench, home):
        if reevaluate:
            seal = find(bench.files, bench.places, batch).seal
            suite = suite_named(seal.suite, env=seal.environment, project=home)
            result = judge_again(bench, batch, suite, here(home), reason, requested_by=requested_by)
            if output is Output.json:
                print_json(result.to_dict())
            else:
                typer.echo(result.message)
            raise typer.Exit(result.exit_code)
        _told(let_go(bench, batch, here(home), reason, requested_by=requested_by, rules=rule), output)


@held.command()
def discard(
    batch: BatchArgument,
    reason: ReasonOption,
    requested_by: AskerOption = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Give a held batch up for good: its rows are deleted, the evidence stays.

    You approve as the user of the operating system, and cannot be the one who asked.
    """
    from lazaretto.pipeline.held import discard as give_up
    from lazaretto.pipeline.person import here

    with workbench("held discard", project, env) as (bench, home):
        _told(give_up(bench, batch, here(home), reason, requested_by=requested_by), output)


def _told(ended: Ended, output: Output) -> None:
    seal, counts = ended.seal, ended.seal.counts
    document: dict[str, Any] = {
        "batch_id": seal.batch_id,
        "asset": seal.target.asset,
        "resolution": ended.resolution.kind,
        "approver": ended.resolution.approval.approver,
        "requested_by": ended.resolution.requested_by,
        "version": ended.version,
        "decision_id": ended.decision.decision_id if ended.decision else None,
        "publication": ended.decision.publication.value if ended.decision else "NOT_PUBLISHED",
        "counts": counts.model_dump() if ended.decision else None,
        "unlocked": ended.unlocked,
    }
    if output is Output.json:
        print_json(document)
        return
    typer.echo(f"batch {seal.batch_id[:12]} of {seal.target.asset} is {ended.resolution.kind}")
    if ended.decision:
        rejected = counts.quarantined + counts.dead_lettered
        typer.echo(f"{counts.accepted:,} rows published as version {ended.version}, {rejected:,} quarantined")
    if ended.unlocked:
        typer.echo("the asset is unlocked")


def _age(each: HeldBatch) -> str:
    hours = (datetime.now(UTC) - each.seal.sealed_at).total_seconds() / 3600
    return f"since {hours:.0f} h" if hours < 48 else f"since {hours / 24:.0f} days"
