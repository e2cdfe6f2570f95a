"""`lazaretto validate`: every mistake of every file, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.config.problems import Problem
    from lazaretto.model.correction import CorrectionSet


def validate(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Suite, correction or policy files, or folders; else the whole project.")
    ] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    output: OutputOption = Output.text,
) -> None:
    """Check suites, corrections, policies and the project; name every mistake with its line. Exit 2 if there is one."""
    from lazaretto.config.codes import Level
    from lazaretto.config.suites import load_suites

    result = load_suites(paths or None, env=env, project=project)
    errors = [p for p in result.problems if p.level is Level.ERROR]
    warnings = [p for p in result.problems if p.level is not Level.ERROR]
    if output is Output.json:
        print_json(
            {
                "ok": not errors and not (strict and warnings),
                "suites": [{"suite": s.suite, "version": s.version, "rules": len(s.rules)} for s in result.suites],
                "corrections": [_correction_set(written) for written in result.corrections],
                "policies": [written.policy.name for written in result.policies],
                "problems": [p.to_dict() for p in result.problems],
            }
        )
    else:
        for problem in result.problems:
            _show(problem, problem.level is Level.ERROR)
        rules = sum(len(s.rules) for s in result.suites)
        corrections = sum(len(written.corrections) for written in result.corrections)
        typer.echo(_summary(len(result.suites), rules, corrections, len(errors), len(warnings)))
    if errors or (strict and warnings):
        raise typer.Exit(2)


def _show(problem: Problem, is_error: bool) -> None:
    place = f"{problem.location}: " if problem.location else ""
    word = typer.style("error", fg="red", bold=True) if is_error else typer.style("warning", fg="yellow")
    typer.echo(f"{place}{word} {problem.code}: {problem.message}")
    if problem.expected:
        typer.echo(f"    expected: {problem.expected}")
    if problem.hint:
        typer.echo(f"    hint: {problem.hint}")


def _correction_set(written: CorrectionSet) -> dict[str, object]:
    return {
        "asset": written.asset,
        "version": written.version,
        "corrections": [{"id": one.id, "fingerprint": one.fingerprint} for one in written.corrections],
    }


def _summary(suites: int, rules: int, corrections: int, errors: int, warnings: int) -> str:
    def count(number: int, noun: str) -> str:
        return f"{number} {noun}{'' if number == 1 else 's'}"

    if errors:
        return f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    also = f" and {count(corrections, 'correction')}" if corrections else ""
    return f"{count(suites, 'suite')} with {count(rules, 'rule')}{also}: valid, {count(warnings, 'warning')}"
