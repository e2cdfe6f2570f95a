"""The assets of a project: the tables that its suites guard, and those that the store or the lake remember."""

from __future__ import annotations

from lazaretto.config.project import Project
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.pipeline import archive
from lazaretto.pipeline.bench import Bench
from lazaretto.quarantine import held


class UnknownAsset(LazarettoError):
    """Nobody knows an asset of that name."""


def assets(bench: Bench, project: Project, env: str | None, only: str | None = None) -> dict[str, str]:
    """Name → folder, by name; or of one asset."""
    found = {head.asset: "" for head in bench.store.chain_heads()}
    found |= dict.fromkeys(archive.assets(bench.files, bench.places, bench.store.environment), "")
    found |= {seal.target.asset: seal.target.path for seal in held.held(bench.files, bench.places.held)}
    for suite in load_suites(None, env, project).suites:
        found[suite.asset] = bench.places.asset(bench.spark, suite)
    if only is not None:
        if only not in found:
            known = ", ".join(sorted(found)) or "none"
            raise UnknownAsset(f"no suite guards {only} and the store does not know it; known are: {known}")
        found = {only: found[only]}
    return {name: path or bench.places.located(bench.spark, name) for name, path in sorted(found.items())}
