"""Which columns a project calls sensitive, and who may see them all the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from lazaretto.config.project import Project
from lazaretto.model.errors import LazarettoError
from lazaretto.model.expression import columns_of
from lazaretto.model.suite import Suite
from lazaretto.model.words import Dimension
from lazaretto.pipeline.person import Person
from lazaretto.quarantine.veil import Sensitive, Veil
from lazaretto.store import Store


class NotForYou(LazarettoError):
    """Somebody asked for values that the project does not let them see."""


def veil_of(suites: Iterable[Suite]) -> Veil:
    """What is hidden of each asset: the columns its suites mask, and those their privacy rules are about.

    A privacy rule that names no column could be about any of them: such an asset is hidden whole, like one that no
    suite of the project guards.
    """
    by_asset: dict[str, list[Suite]] = defaultdict(list)
    for suite in suites:
        by_asset[suite.asset].append(suite)
    found: dict[str, Sensitive] = {}
    for asset, its in by_asset.items():
        columns: list[str] = []
        blind = False
        for suite in its:
            columns += suite.payload.columns
            for rule in suite.rules:
                if rule.dimension is not Dimension.PRIVACY:
                    continue
                about = (*rule.targets, *rule.mentions(), *_written(rule.expressions()))
                columns += [column.partition(".each")[0] for column in about]
                blind = blind or not about or any("*" in column for column in about)
        if not blind:
            hidden = tuple(dict.fromkeys(columns))
            keys = {key.casefold() for suite in its for key in (*suite.key, *filter(None, [suite.event_id]))}
            tops = {part.casefold() for column in hidden for part in (column, column.partition(".")[0])}
            found[asset] = Sensitive(hidden, key=bool(keys & tops))
    return Veil(found)


def lifted(project: Project, store: Store, who: Person, what: str, **details: Any) -> None:
    """See that somebody may look behind the veil, and put on record that they did, before they do."""
    if who.name not in project.may_see:
        store.record_event(
            who.name, "reveal refused", assurance=who.assurance, subject=what, details={"asked for": what, **details}
        )
        listed = ", ".join(project.may_see) or "nobody"
        raise NotForYou(
            f"{who.name} may not see sensitive values: `may_see` of lazaretto.yml names {listed}. "
            "Leave out --reveal, or have somebody on that list look"
        )
    store.record_event(who.name, "revealed", assurance=who.assurance, subject=what, details=details)


def _written(expressions: Iterable[str]) -> list[str]:
    return [path[0] for text in expressions for path in columns_of(text)]
