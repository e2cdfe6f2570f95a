"""`lazaretto decisions`: what was decided, why, and whether it would be decided so again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, moment, plain_console, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from lazaretto.model.results import GateDecision
    from lazaretto.store import DecisionSummary

_WIDE = 120
"""Columns that a decision needs to stand in one line."""

decisions = typer.Typer(no_args_is_help=True, help="Decisions on record.")


@decisions.callback()
def _decisions() -> None:
    """Decisions on record."""


@decisions.command("list")
def list_(
    asset: Annotated[str | None, typer.Argument(help="Only those of this asset.")] = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 50,
    since: Annotated[str | None, typer.Option(help="Only from this day or time (UTC) on.")] = None,
    before: Annotated[str | None, typer.Option(help="Only before this day or time: the next page.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List decisions, the latest first."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.control import open_project_store

    with open_project_store(load_project(project, env), env, create=False) as store:
        found = store.decisions(
            asset,
            limit=limit,
            since=moment(since, "--since") if since else None,
            before=moment(before, "--before") if before else None,
        )
    if output is Output.json:
        print_json([asdict(one) | {"decided_at": one.decided_at.isoformat()} for one in found])
        return
    from rich.text import Text

    console = plain_console()
    if not found:
        console.print("no decisions on record")
    elif console.width < _WIDE:
        for one in found:
            console.print(Text(f"{one.decision_id[:12]}  {one.decided_at:%Y-%m-%d %H:%M}  {one.asset}", style="bold"))
            version = "" if one.published_version is None else f" as version {one.published_version}"
            console.print(f"              {one.action}: {_came_of(one)}{version} ({one.reason_code})", soft_wrap=True)
    else:
        console.print(_table(found))
    if len(found) == limit:
        console.print(f"older ones: --before {found[-1].decided_at.isoformat()}", style="dim", soft_wrap=True)


def _table(found: Sequence[DecisionSummary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("decision", "decided (UTC)", "asset", "action", "publication", "version", "reason"):
        table.add_column(heading, no_wrap=heading != "asset", overflow="fold")
    for one in found:
        version = "" if one.published_version is None else str(one.published_version)
        at = f"{one.decided_at:%Y-%m-%d %H:%M:%S}"
        id_, action, reason = one.decision_id[:12], one.action.value, one.reason_code
        table.add_row(id_, at, Text(one.asset), action, _came_of(one), version, reason)
    return table


def _came_of(one: DecisionSummary) -> str:
    return one.publication.value if one.confirmed else "not confirmed"


@decisions.command()
def show(
    decision: Annotated[str, typer.Argument(help="Id of the decision, or how it begins.")],
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Show a decision in full: what was found, why it was decided so, by which rules and policy, on whose word."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.control import open_project_store

    with open_project_store(load_project(project, env), env, create=False) as store:
        summary = store.decision_named(decision)
        found = store.decision(summary.decision_id)
    if output is Output.json:
        print_json(_document(found, summary))
    else:
        _show(found, summary)


@decisions.command()
def replay(
    decision: Annotated[str | None, typer.Argument(help="Id of a decision, or how it begins; else all.")] = None,
    asset: Annotated[str | None, typer.Option(help="Only decisions of this asset.")] = None,
    policy: Annotated[str | None, typer.Option(help="What this policy (file or name) would have done.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Decide again from what was stored, and compare. Exit 1 if anything differs.

    With --policy: what another policy would have done; nothing is changed, and the exit code is 0.
    """
    from lazaretto.config.policies import load_policy
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.control import open_project_store
    from lazaretto.pipeline.replay import replay as again

    home = load_project(project, env)
    other = load_policy(policy, home).policy if policy else None
    with open_project_store(home, env, create=False) as store:
        chosen = [store.decision_named(decision)] if decision else store.decisions(asset, limit=None)
        replayed = [again(store, one.decision_id, other) for one in chosen]
    changed = [one for one in replayed if one.differences]
    if output is Output.json:
        print_json({"replayed": len(replayed), "different": [asdict(one) for one in changed]})
    else:
        for one in changed:
            after = one.after or "unknown"
            typer.echo(f"{one.decision_id[:12]}  {one.asset}  {one.before} → {after}  {'; '.join(one.differences)}")
        what = f"would be other under {other.name}" if other else "differ"
        typer.echo(f"{len(replayed):,} decisions replayed, {len(changed):,} {what}")
    if changed and other is None:
        raise typer.Exit(1)


def _document(decision: GateDecision, summary: DecisionSummary) -> dict[str, Any]:
    """The quality result event, with all that is known besides."""
    from lazaretto.gate.message import facts

    told = facts(decision)
    names = (
        "reason_code",
        "explanation",
        "reasons",
        "publication",
        "policy",
        "approvals",
        "held_by",
        "inputs",
        "owner",
    )
    return {
        "decisionId": decision.decision_id,
        "runId": decision.scope.run_id,
        "batchId": decision.scope.batch_id,
        "asset": decision.scope.asset,
        "assetVersion": summary.published_version,
        "scope": {"partition": dict(decision.scope.partition)},
        "suiteId": decision.suite,
        "suiteVersion": decision.suite_version,
        "ruleSetFingerprint": decision.rule_set_fingerprint,
        "decision": decision.action.value,
        "maxSeverity": decision.max_severity and decision.max_severity.value,
        "evaluatedAt": summary.decided_at.isoformat().replace("+00:00", "Z"),
        "confirmed": summary.confirmed,
        **{_camel(name): told[name] for name in names},
        "checks": [
            {
                "ruleId": result.rule_id,
                "ruleVersion": result.rule_version,
                "column": result.column,
                "dimension": result.dimension.value,
                "severity": result.severity.value,
                "status": result.status.value,
                "checkedCount": result.checked,
                "failedCount": result.failed,
                "erroredCount": result.errored,
            }
            for result in decision.results
        ],
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _show(decision: GateDecision, summary: DecisionSummary) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from lazaretto.gate.message import lines

    console = Console(highlight=False)
    title = f"[bold]{decision.action}[/] {decision.scope.asset}"
    console.print(Panel(Text("\n".join(lines(decision))), title=title, title_align="left"))
    version = "none" if summary.published_version is None else str(summary.published_version)
    confirmed = "confirmed" if summary.confirmed else "not confirmed"
    console.print(f"decided {summary.decided_at:%Y-%m-%d %H:%M:%S} UTC, {confirmed}, published version {version}")
    console.print(f"decision {decision.decision_id}\npolicy {decision.policy}", style="dim", soft_wrap=True)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("rule", "column", "status", "severity", "checked", "failed", "errored"):
        table.add_column(heading, justify="right" if heading in ("checked", "failed", "errored") else "left")
    for r in decision.results:
        counts = (f"{r.checked:,}", f"{r.failed:,}", f"{r.errored:,}")
        table.add_row(Text(r.rule_id), Text(r.column or ""), r.status.value, r.severity.value, *counts)
    console.print(table)
