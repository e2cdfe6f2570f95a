"""`lazaretto verify`: prove that evidence, decisions and rows add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.proof import Proof


def verify(
    asset: Annotated[str | None, typer.Argument(help="One asset; else all of the project.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Prove from tables and logs: the evidence is whole, every version has its decision, no row is missing.

    Nothing is changed. Exit 1 if anything does not add up; it is named.
    """
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.verify import verify as prove

    with workbench("verify", project, env) as (bench, home):
        proofs = prove(bench, assets(bench, home, env, asset))
    if output is Output.json:
        holds = all(proof.holds for proof in proofs)
        print_json({"holds": holds, "assets": [proof.to_dict() for proof in proofs]})
    else:
        for proof in proofs:
            _show(proof)
    raise typer.Exit(0 if all(proof.holds for proof in proofs) else 1)


def _show(proof: Proof) -> None:
    counts = proof.totals
    typer.echo(f"{proof.asset}: {'proved' if proof.holds else 'DOES NOT ADD UP'}")
    typer.echo(
        f"  {proof.batches:,} batches: {counts.input:,} rows in = {counts.accepted:,} accepted + "
        f"{counts.quarantined:,} quarantined + {counts.dead_lettered:,} dead-lettered + {counts.held:,} held"
    )
    if proof.standing:
        told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in proof.standing.items())
        typer.echo(f"  quarantined: {told}")
    typer.echo(f"  {proof.records:,} evidence records")
    for note in proof.notes:
        typer.echo(f"  note: {note}")
    for finding in proof.findings:
        typer.echo(f"  {finding.kind}: {finding.problem}")
