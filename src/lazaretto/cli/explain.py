"""`lazaretto explain`: what a suite will do, rule by rule, before it does it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, find_suite, print_json

if TYPE_CHECKING:
    from lazaretto.engine.plan import Instance, Plan


def explain(
    suite: Annotated[str, typer.Argument(help="Name of a suite of the project, or a suite file.")],
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Show the SQL each rule compiles to, how it treats NULLs and errors, what it does, and what it costs."""
    from lazaretto.engine.plan import plan

    laid_out = plan(find_suite(suite, env, project), None, today=datetime.now(UTC).date())
    if output is Output.json:
        print_json(_document(laid_out))
        return
    _print(laid_out)


def _document(laid_out: Plan) -> dict[str, Any]:
    suite = laid_out.suite
    return {
        "suite": suite.suite,
        "version": suite.version,
        "asset": suite.asset,
        "rule_set_fingerprint": laid_out.fingerprint,
        "rules": [_facts(instance) for instance in laid_out.instances],
    }


def _facts(instance: Instance) -> dict[str, Any]:
    rule = instance.rule
    return {
        "id": rule.id,
        "version": instance.version,
        "check": rule.check,
        "column": instance.column,
        "expected": rule.expects(),
        "sql": instance.shown,
        "where": rule.where,
        "on_null": rule.on_null.value,
        "on_fail": instance.on_fail.value,
        "on_error": rule.effective_on_error.value,
        "severity": rule.severity.value,
        "dimension": rule.dimension.value,
        "warn_above": str(rule.warn_above) if rule.warn_above else None,
        "block_above": str(rule.block_above) if rule.block_above else None,
        "fingerprint": instance.fingerprint,
        "note": rule.note or None,
    }


def _print(laid_out: Plan) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    suite = laid_out.suite
    console.print(f"[bold]{suite.suite}[/] {suite.version} guards [bold]{suite.asset}[/]", soft_wrap=True)
    console.print(f"rule set {laid_out.fingerprint}\n", style="dim", soft_wrap=True)
    for instance in laid_out.instances:
        facts = _facts(instance)
        at = f" on {facts['column']}" if facts["column"] else ""
        console.print(Text(f"{facts['id']}{at}", style="bold"), f"[dim]({facts['check']})[/]")
        line("expects", facts["expected"], console)
        line("sql", facts["sql"], console)
        line("only where", facts["where"], console)
        line("NULL", "passes" if facts["on_null"] == "pass" else "fails", console)
        line("fails", f"{facts['on_fail']} ({facts['severity']}, {facts['dimension']})", console)
        line("errors", facts["on_error"], console)
        line("warn above", facts["warn_above"], console)
        line("block above", facts["block_above"], console)
        line("note", facts["note"], console)
        console.print()


def line(label: str, value: str | None, console: Any) -> None:
    """A labelled line, if there is something to say."""
    from rich.text import Text

    if value:
        console.print(Text(f"  {label:<12}", style="dim").append(Text(value, style="not dim")), soft_wrap=True)
