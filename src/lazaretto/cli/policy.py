"""`lazaretto policy`: what the policy says, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.model.words import CheckStatus, Consumers, Dimension, GateAction, Severity, Tier

if TYPE_CHECKING:
    from lazaretto.config.policies import WrittenPolicy
    from lazaretto.model.policy import Case, PolicyRow

policy = typer.Typer(no_args_is_help=True, help="Look at the policy that decides.")


@policy.callback()
def _policy() -> None:
    """Look at the policy that decides."""


@policy.command()
def explain(
    name: Annotated[str | None, typer.Argument(help="Name or file of a policy; else the project's.")] = None,
    dimension: Annotated[str | None, typer.Option(help="Dimension of the case: validity, privacy …")] = None,
    severity: Annotated[str | None, typer.Option(help="Severity of the case.")] = None,
    status: Annotated[str | None, typer.Option(help="fail or error.")] = None,
    tier: Annotated[str | None, typer.Option(help="Tier of the asset.")] = None,
    asked: Annotated[str | None, typer.Option(help="What the rule asks for.")] = None,
    consumers: Annotated[str | None, typer.Option(help="How critical those are who read the asset.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Print the table of a policy; with any of the options, also why such a case falls where it does."""
    from lazaretto.config.policies import load_policy
    from lazaretto.config.project import load_project

    written = load_policy(name, load_project(project, env))
    given = any(word is not None for word in (dimension, severity, status, tier, asked, consumers))
    case = None
    if given:
        from lazaretto.model.policy import Case

        case = Case(
            _word(Dimension, dimension or "validity", "--dimension"),
            _word(Severity, severity or "medium", "--severity"),
            _word(CheckStatus, status or "fail", "--status"),
            _word(Tier, tier or "standard", "--tier"),
            _word(GateAction, asked or _usual(status), "--asked"),
            _word(Consumers, consumers or "normal", "--consumers"),
        )
    document = _document(written, case)
    if output is Output.json:
        print_json(document)
    else:
        _print(document)


def _usual(status: str | None) -> str:
    return "block_publication" if (status or "").casefold() == "error" else "quarantine_records"


def _word(kind: Any, value: str, option: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(str(word).lower() for word in kind)
        raise typer.BadParameter(f"{value!r}: expected one of {words}", param_hint=option) from None


def _document(written: WrittenPolicy, case: Case | None) -> dict[str, Any]:
    from lazaretto.model.policy import DEFAULT, GUARD

    rows = [_row(row, "built in" if row in GUARD else None, written) for row in written.policy.table]
    document: dict[str, Any] = {
        "policy": written.policy.name,
        "digest": written.policy.digest,
        "description": written.description,
        "rows": [{"number": number} | row for number, row in enumerate(rows, 1)],
        "default": DEFAULT.value,
    }
    return document if case is None else document | {"case": _explained(written, case)}


def _row(row: PolicyRow, place: str | None, written: WrittenPolicy) -> dict[str, Any]:
    form = row.canonical()
    at = written.place(row)
    return {
        "place": place or (str(at) if at else "built in"),
        "match": {key: words for key, words in form.items() if isinstance(words, list)},
        "action": row.action.value,
        "reason": row.reason and row.reason.value,
        "why": row.why,
    }


def _explained(written: WrittenPolicy, case: Case) -> dict[str, Any]:
    verdict = written.policy.verdict(case)
    by_floor = case.floor.rank > verdict.action.rank
    action = case.floor if by_floor else verdict.action
    number = next((n for n, row in enumerate(written.policy.table, 1) if row is verdict.row), None)
    at = written.place(verdict.row) if verdict.row is not None else None
    where = "the default" if number is None else f"row {number} ({at or 'built in'})"
    why = f"{where} says {verdict.action}: {verdict.why}"
    if by_floor:
        why += f"; but the rule itself asks for {case.floor}, and a policy never undercuts that"
    return {
        "dimension": case.dimension.value,
        "severity": case.severity.value,
        "status": case.status.value,
        "tier": case.tier.value,
        "asked": case.asked.value,
        "consumers": case.consumers.value,
        "row": number,
        "place": str(at) if at else None,
        "policy_says": verdict.action.value,
        "floor": case.floor.value,
        "action": action.value,
        "why": why,
    }


def _print(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(document["policy"], style="bold").append(Text(f"  {document['digest'][:12]}", style="dim")))
    if document["description"]:
        console.print(Text(document["description"]))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("row", "case", "action", "where"):
        table.add_column(heading)
    for row in document["rows"]:
        match = ", ".join(f"{key} {' or '.join(words)}" for key, words in row["match"].items()) or "everything else"
        table.add_row(str(row["number"]), Text(match), row["action"], Text(row["place"], style="dim"))
    table.add_row("", "no row fits", document["default"], Text("default", style="dim"))
    console.print(table)
    if case := document.get("case"):
        keys = ("dimension", "severity", "status", "tier", "asked", "consumers")
        console.print(Text("\n" + ", ".join(f"{key} {case[key]}" for key in keys)), soft_wrap=True)
        console.print(Text(f"→ {case['action']}", style="bold"), soft_wrap=True)
        console.print(Text(f"  {case['why']}"), soft_wrap=True)
