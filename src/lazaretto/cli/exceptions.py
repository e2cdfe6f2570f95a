"""`lazaretto exceptions`: who lets a privacy or security rule be broken, why, and until when."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, moment, print_json

exceptions = typer.Typer(no_args_is_help=True, help="Exceptions to privacy and security rules, on record.")


@exceptions.callback()
def _exceptions() -> None:
    """Exceptions to privacy and security rules, on record."""


@exceptions.command()
def add(
    asset: Annotated[str, typer.Argument(help="The asset, as schema.table.")],
    rules: Annotated[list[str], typer.Option("--rules", help="Id of a rule; may be given several times.")],
    reason: Annotated[str, typer.Option(help="Why it is tolerated.")],
    expires: Annotated[str, typer.Option(help="Day or time (UTC) from which it no longer holds.")],
    requested_by: Annotated[str, typer.Option("--requested-by", help="Who asked for it; never the approver.")],
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Put an exception on record: you approve what somebody else asked for."""
    from lazaretto.config.policies import load_policy
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.person import here

    home = load_project(project, env)
    person = here(home)
    approver = person.name
    if not reason.strip():
        raise typer.BadParameter("say why", param_hint="--reason")
    if not requested_by.strip() or requested_by.strip().casefold() == approver.casefold():
        raise typer.BadParameter(
            f"{requested_by!r} would approve their own request; four eyes are needed: have somebody else run this",
            param_hint="--requested-by",
        )
    until = moment(expires, "--expires")
    if until <= datetime.now(UTC):
        raise typer.BadParameter(f"{expires} is past", param_hint="--expires")
    named = [rule.strip() for given in rules for rule in given.split(",") if rule.strip()]
    _refuse_unknown(asset, named, env, project)
    person.see_assurance(load_policy(None, home).policy, "except a rule")

    from lazaretto.model.results import Approval
    from lazaretto.pipeline.control import open_project_store

    approval = Approval(
        approver=approver, assurance=person.assurance, rules=tuple(named), reason=reason.strip(), expires_at=until
    )
    with open_project_store(home, env) as store:
        approval_id = store.record_approval(approval, asset, requested_by=requested_by.strip())
    if output is Output.json:
        print_json({"approval_id": approval_id, "asset": asset, **approval.model_dump(mode="json")})
    else:
        typer.echo(f"{', '.join(named)} of {asset}: excepted until {until:%Y-%m-%d %H:%M} UTC ({approval_id})")


@exceptions.command("list")
def list_(
    asset: Annotated[str | None, typer.Argument(help="Only those of this asset.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List exceptions and releases on record, the latest first, expired ones too."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.control import open_project_store

    now = datetime.now(UTC)
    with open_project_store(load_project(project, env), env, create=False) as store:
        found: list[dict[str, Any]] = [
            {
                "approval_id": record.approval_id,
                "asset": record.asset,
                "requested_by": record.requested_by,
                "recorded_at": record.recorded_at.isoformat(),
                "in_force": record.approval.expires_at is None or record.approval.expires_at > now,
                **record.approval.model_dump(mode="json"),
            }
            for record in store.approvals_on_record(asset)
        ]
    if output is Output.json:
        print_json(found)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("asset", "rules", "approver", "asked by", "until", "reason"):
        table.add_column(heading)
    for one in found:
        until = (one["expires_at"] or "")[:16] + ("" if one["in_force"] else " (expired)")
        table.add_row(
            one["asset"],
            Text("\n".join(one["rules"])),
            Text(one["approver"]),
            Text(one["requested_by"] or ""),
            until,
            Text(one["reason"]),
        )
    Console(highlight=False).print(table if found else "no exceptions on record")


def _refuse_unknown(asset: str, rules: list[str], env: str | None, project: Path | None) -> None:
    """An exception for a rule that is not there, or that needs none, would be a word without effect."""
    from lazaretto.config.suites import load_suites
    from lazaretto.model.catalogue import nearest
    from lazaretto.model.words import Dimension

    guarded = {
        rule.id: rule.dimension
        for suite in load_suites(None, env, project).suites
        if suite.asset == asset
        for rule in suite.rules
    }
    if not guarded:
        raise typer.BadParameter(f"no suite of the project guards {asset}", param_hint="ASSET")
    for rule in rules:
        if rule not in guarded:
            close = nearest(rule, list(guarded))
            raise typer.BadParameter(
                f"{asset} has no rule {rule!r}" + (f"; did you mean {close}?" if close else ""), param_hint="--rules"
            )
        if guarded[rule] not in (Dimension.PRIVACY, Dimension.SECURITY):
            raise typer.BadParameter(
                f"{rule} is a rule of {guarded[rule]}: only PRIVACY and SECURITY rules have exceptions",
                param_hint="--rules",
            )
