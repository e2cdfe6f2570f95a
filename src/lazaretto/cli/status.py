"""`lazaretto status`: open seals first, then every asset with its state and last decision."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, plain_console, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.standing import Standing, Waiting

_WIDE = 100
"""Columns that an asset needs to stand in one line with the time of its last decision."""


def status(env: EnvOption = None, project: ProjectOption = None, output: OutputOption = Output.text) -> None:
    """Show open seals and their age, held batches, and every asset with its state and last decision."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.control import open_project_store
    from lazaretto.pipeline.places import Places
    from lazaretto.pipeline.standing import held_batches, open_seals, standings

    home = load_project(project, env)
    places, now = Places.of(home), datetime.now(UTC)
    with open_project_store(home, env, create=False) as store:
        assets = standings(store)
    seals, held = open_seals(places), held_batches(places)
    if output is Output.json:
        print_json(
            {
                "open_seals": None if seals is None else [_waiting(one, now) for one in seals],
                "held": None if held is None else [_waiting(one, now) for one in held],
                "assets": [_asset(one) for one in assets],
            }
        )
        return
    typer.echo(_first_line(seals, now))
    for one in seals or ():
        typer.echo(f"  {one.asset or 'unreadable seal'}  {_age(one, now)}  {one.path}")
    if held:
        typer.echo(f"{len(held)} held batch{'' if len(held) == 1 else 'es'} waiting: " + _assets_of(held))
    _print(assets)


def _first_line(seals: tuple[Waiting, ...] | None, now: datetime) -> str:
    if seals is None:
        return "open seals: not known, the lake is not a local folder"
    if not seals:
        return "no open seals"
    return f"{len(seals)} open seal{'' if len(seals) == 1 else 's'}, the oldest {_age(seals[0], now)}"


def _age(one: Waiting, now: datetime) -> str:
    if one.sealed_at is None:
        return "of unknown age"
    minutes = int((now - one.sealed_at).total_seconds() // 60)
    days, hours = minutes // 1440, minutes // 60
    return f"{days} days old" if days > 1 else f"{hours} hours old" if hours > 1 else f"{minutes} minutes old"


def _assets_of(held: tuple[Waiting, ...]) -> str:
    names = [one.asset or "unreadable" for one in held]
    return ", ".join(f"{name} ({names.count(name)})" for name in sorted(set(names)))


def _waiting(one: Waiting, now: datetime) -> dict[str, Any]:
    age = None if one.sealed_at is None else round((now - one.sealed_at).total_seconds())
    return {
        "asset": one.asset,
        "batch_id": one.batch_id,
        "rows": one.rows,
        "sealed_at": one.sealed_at and one.sealed_at.isoformat(),
        "age_seconds": age,
        "path": one.path,
    }


def _asset(one: Standing) -> dict[str, Any]:
    state, last = one.state, one.last
    return {
        "asset": one.asset,
        "state": state and state.state.value,
        "version": state and state.version,
        "last_attempt_refused": bool(state and state.last_attempt_refused),
        "last_decision": last
        and {
            "decision_id": last.decision_id,
            "action": last.action.value,
            "publication": last.publication.value,
            "reason_code": last.reason_code,
            "decided_at": last.decided_at.isoformat(),
            "confirmed": last.confirmed,
        },
    }


def _print(assets: tuple[Standing, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = plain_console()
    headings = ["asset", "state", "version", "last decision", "decision", "at (UTC)"]
    shown = len(headings) if console.width >= _WIDE else len(headings) - 1
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings[:shown]:
        table.add_column(heading, no_wrap=heading != "asset", overflow="fold")
    for one in assets:
        state = one.state.state.value if one.state else "unknown"
        version = "" if one.state is None or one.state.version is None else str(one.state.version)
        last = one.last
        told = (last.action.value, last.decision_id[:12], f"{last.decided_at:%Y-%m-%d %H:%M}") if last else ("", "", "")
        table.add_row(Text(one.asset), *(state, version, *told)[: shown - 1])
    console.print(table if assets else "no assets on record")
