"""Which versions of a table can be trusted: the store says what was decided, the table's log who else wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.config.project import Project, load_project
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import AssetState, WriteMode
from lazaretto.pipeline.places import Places
from lazaretto.spark.commits import Commit, commits
from lazaretto.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lazaretto.store import Store


class NotCertified(LazarettoError):
    """No version of the asset is in a state that the reader accepts."""


def foreign(log: Sequence[Commit]) -> list[Commit]:
    """Commits that changed rows and are not ours. What a table held before its first batch is not our business."""
    first = next((c.version for c in log if c.note), None)
    if first is None:
        return []
    return [c for c in log if c.version > first and c.changes_rows and not c.note]


def tainted(log: Sequence[Commit], version: int) -> Commit | None:
    """Whose change of rows a version contains; None if all its rows are ours. A whole replacement cleanses."""
    strangers = {c.version for c in foreign(log)}
    found: Commit | None = None
    for each in log:
        if each.version > version:
            break
        if each.version in strangers:
            found = each
        elif each.note.get("write") == WriteMode.REPLACE and each.changes_rows:
            found = None
    return found


def trusted_version(store: Store, log: Sequence[Commit], asset: str, accept: Iterable[AssetState]) -> int:
    """The last version in an accepted state. NotCertified says why there is none."""
    accepted = set(accept)
    on_record = store.asset_versions(asset)
    reasons = []
    for version, recorded in on_record.items():
        state = recorded
        if (stranger := tainted(log, version)) is not None and AssetState.UNCERTIFIED not in accepted:
            reasons.append(f"version {version} contains a {stranger.operation} (version {stranger.version}) by others")
            state = AssetState.UNCERTIFIED
        if state not in accepted:
            continue
        mine = next((c for c in log if c.version == version), None)
        if mine is not None and not mine.note and recorded is not AssetState.UNCERTIFIED:
            reasons.append(f"version {version} is not the one that was certified: the table's history was rewritten")
            continue
        return version
    wanted = ", ".join(sorted(accepted))
    if not on_record:
        raise NotCertified(f"nothing was ever published to {asset} by Lazaretto, so it is not {wanted}")
    latest, state = next(iter(on_record.items()))
    because = f" ({'; '.join(reasons[:3])})" if reasons else ""
    raise NotCertified(
        f"{asset} has no version that is {wanted}: version {latest} is {state}{because}. "
        "Wait for a batch that is, or accept more: accept=(…)"
    )


def require_certified(
    spark: SparkSession,
    asset: str,
    accept: Iterable[str] = ("certified",),
    *,
    env: str | None = None,
    project: Project | str | Path | None = None,
) -> DataFrame:
    """An asset as of its last version in an accepted state, for readers who must not read anything less.

    States: certified, partial, degraded, uncertified, superseded. Raises NotCertified if there is no such version.
    """
    from lazaretto.pipeline.control import open_project_store

    home = project if isinstance(project, Project) else load_project(project, env)
    try:
        states = [AssetState(word) for word in accept]
    except ValueError as error:
        raise NotCertified(f"{error}; states are: {', '.join(AssetState)}") from None
    places = Places.of(home)
    suites = [suite for suite in load_suites(None, env, home).suites if suite.asset == asset]
    path = places.asset(spark, suites[0]) if suites else places.located(spark, asset)
    with open_project_store(home, env) as store:
        version = trusted_version(store, commits(Files(spark), path), asset, states)
    return spark.read.format("delta").option("versionAsOf", version).load(path)
