"""Corrections of a project: corrections/*.yml, the mirror of the suites."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from pydantic import ValidationError

import lazaretto.transformations  # noqa: F401 - fills the list of transformations
from lazaretto.config import codes
from lazaretto.config.entities import suites_in
from lazaretto.config.problems import Problems
from lazaretto.config.shaping import keys_of
from lazaretto.config.validation import Keys, build, note, present, refuse_unknown, refuse_unknown_below, shaped
from lazaretto.config.yaml_tree import Node
from lazaretto.model.catalogue import nearest
from lazaretto.model.correction import (
    Correction,
    CorrectionSet,
    Transformation,
    UnknownTransformation,
    all_transformations,
    find_transformation,
)
from lazaretto.model.values import Location

FOLDER = "corrections"

Guarded = Mapping[str, Collection[str]]
"""The assets that suites guard, and the ids of their rules."""


@dataclass
class WrittenCorrections:
    """The sound corrections so far, and the trees they come from."""

    problems: Problems
    found: list[tuple[CorrectionSet, Node]] = field(default_factory=list)
    named: dict[str, Location] = field(default_factory=dict)

    def take(self, node: Node, root: Path | None) -> None:
        """One dataset's corrections, with presets and variables filled in."""
        built = build_corrections(node, PurePath(root) if root else None, self.problems)
        if built is not None:
            self.found.append((built, node))
        for item in node.at(("corrections",)).items:
            self._note_name(item)

    def _note_name(self, item: Node) -> None:
        named = item.get("id")
        if named is None or not named.text:
            return
        first = self.named.setdefault(named.text, named.location)
        if first is not named.location:
            message = f"the correction {named.shown} exists already, in {first.file}:{first.line}"
            hint = "give it an id of its own: what it did is counted by it"
            self.problems.add(codes.DUPLICATE_CORRECTION, named.place, message, hint=hint)

    def compare(self, guarded: Guarded) -> None:
        """Hold them against the suites: every asset is guarded by one, every rule is one of its rules."""
        for written, node in self.found:
            if written.asset not in guarded:
                close = nearest(written.asset, guarded)
                self.problems.add(
                    codes.UNKNOWN_ASSET,
                    node.at(("asset",)).place,
                    f"no suite guards {written.asset}",
                    expected=f"one of {', '.join(sorted(guarded))}" if guarded else "a suite with this `asset`",
                    hint=f"did you mean {close}?" if close else None,
                )
                continue
            for position, correction in enumerate(written.corrections):
                self._compare_rules(correction, node.at(("corrections", position)), written.asset, guarded)

    def _compare_rules(self, correction: Correction, node: Node, asset: str, guarded: Guarded) -> None:
        known = guarded[asset]
        for position, rule in enumerate(correction.match.rules):
            if rule in known or rule in _BUILT_IN:
                continue
            listed = node.at(("match", "rules"))
            place = listed.items[position].place if listed.is_list else listed.place
            close = nearest(rule, (*known, *_BUILT_IN))
            self.problems.add(
                codes.UNKNOWN_RULE,
                place,
                f"the suite of {asset} has no rule {rule}",
                expected=f"one of {', '.join(sorted(known))}" if not close else None,
                hint=f"did you mean {close}?" if close else None,
            )

    def sound(self) -> tuple[CorrectionSet, ...]:
        """Those without any problem."""
        bad = {p.location.file for p in self.problems.errors if p.location is not None}
        return tuple(written for written, node in self.found if node.location.file not in bad)


_BUILT_IN = ("lz.schema", "lz.unparseable", "lz.castable", "lz.target")


def datasets_in(tree: Node, problems: Problems) -> list[Node]:
    """The parts of a file, as in a suite file: the file itself, or one for each entity."""
    if tree.get("entities") is None:
        return [tree]
    # An entity gets the name of its suite from the names around it; here it has none.
    return [
        node.with_entries({key: child for key, child in node.entries.items() if key != "suite" or _own(child)})
        for node in suites_in(tree, problems)
    ]


def _own(child: Node) -> bool:
    return child.key_location is not child.location


def build_corrections(node: Node, root: PurePath | None, problems: Problems) -> CorrectionSet | None:
    """The corrections of one dataset, or None if anything is wrong with them."""
    before = len(problems.errors)
    keys = refuse_unknown(present(node, problems), keys_of(CorrectionSet), problems, "a correction file")
    listed = keys.node.get("corrections")
    built = _corrections(listed, problems) if listed is not None else ()
    rest = keys.node.with_entries({key: child for key, child in keys.node.entries.items() if key != "corrections"})
    data, faulty = shaped(Keys(rest, keys.faulty), CorrectionSet, problems)
    if listed is not None:
        data["corrections"] = built or (_stand_in(),)
    try:
        made = CorrectionSet.model_validate(data | {"location": node.location, "project_root": root})
    except ValidationError as error:
        note(error, keys.node, CorrectionSet, problems, faulty)
        return None
    return made if built and not faulty and len(problems.errors) == before else None


def _corrections(listed: Node, problems: Problems) -> tuple[Correction, ...]:
    if not listed.is_list or not listed.items:
        found = listed.kind if not listed.is_list else "empty"
        expected = "a list, each correction beginning with '- id:'"
        problems.add(codes.WRONG_KIND, listed.place, f"`corrections` is {found}", expected=expected)
        return ()
    built = [_correction(item, problems) for item in listed.items]
    sound = tuple(one for one in built if one is not None)
    if len(sound) < len(built):
        return ()
    _note_shadowed(sound, listed, problems)
    return sound


def _correction(node: Node, problems: Problems) -> Correction | None:
    if not node.is_mapping:
        expected = "keys and values: id, match, transformations"
        problems.add(codes.WRONG_KIND, node.place, f"a correction is {node.kind}", expected=expected)
        return None
    before = len(problems.errors)
    keys = refuse_unknown(present(node, problems), keys_of(Correction), problems, "a correction", _answer)
    keys = refuse_unknown_below(keys, Correction, problems)
    listed = keys.node.get("transformations")
    steps = _steps(listed, problems) if listed is not None else ()
    rest = keys.node.with_entries({k: child for k, child in keys.node.entries.items() if k != "transformations"})
    data, faulty = shaped(Keys(rest, keys.faulty), Correction, problems)
    if listed is not None:
        data["transformations"] = steps or (_stand_in_step(),)
    try:
        made = Correction.model_validate(data | {"location": node.location})
    except ValidationError as error:
        note(error, keys.node, Correction, problems, faulty)
        return None
    return made if steps and not faulty and len(problems.errors) == before else None


def _steps(listed: Node, problems: Problems) -> tuple[Transformation, ...]:
    if not listed.is_list or not listed.items:
        found = listed.kind if not listed.is_list else "empty"
        expected = "a list, each step beginning with '- transform:'"
        problems.add(codes.WRONG_KIND, listed.place, f"`transformations` is {found}", expected=expected)
        return ()
    built = [_step(item, problems) for item in listed.items]
    return tuple(one for one in built if one is not None) if all(one is not None for one in built) else ()


def _step(node: Node, problems: Problems) -> Transformation | None:
    if not node.is_mapping:
        expected = "keys and values, such as {transform: trim, column: amount}"
        problems.add(codes.WRONG_KIND, node.place, f"a transformation is {node.kind}", expected=expected)
        return None
    named = node.get("transform")
    if named is None or not isinstance(named.value, str):
        names = ", ".join(kind.name for kind in all_transformations())
        if named is None:
            problems.add(codes.MISSING_KEY, node.place, "`transform` is missing", expected=f"one of {names}")
        else:
            problems.add(codes.WRONG_KIND, named.place, f"`transform` is {named.kind}", expected=f"one of {names}")
        return None
    try:
        kind = find_transformation(named.value)
    except UnknownTransformation as unknown:
        names = ", ".join(known.name for known in all_transformations())
        problems.add(
            codes.UNKNOWN_TRANSFORMATION,
            named.place,
            f"there is no transformation `{named.shown}`",
            expected=None if unknown.nearest else f"one of {names}",
            hint=f"did you mean {unknown.nearest}?" if unknown.nearest else None,
        )
        return None
    return build(kind, node, problems, f"the transformation {kind.name}", location=node.location)


def _note_shadowed(corrections: tuple[Correction, ...], listed: Node, problems: Problems) -> None:
    """The first that can be applied wins, so the same steps for records that an earlier one has are never reached."""
    active = [(position, one) for position, one in enumerate(corrections) if one.active]
    for position, one in active:
        for earlier, other in active:
            if earlier >= position:
                break
            if other.match.covers(one.match) and other.steps_fingerprint == one.steps_fingerprint:
                line = other.location.line if other.location else 0
                problems.add(
                    codes.SHADOWED_CORRECTION,
                    listed.items[position].at(("id",)).place,
                    f"{one.id} is never reached: {other.id} in line {line} does the same with all its records",
                    hint="remove it, or narrow the other one's `match`",
                )
                break


def _answer(key: str, value: Any) -> tuple[str, str] | None:
    if key in ("rules", "rule", "where"):
        return codes.UNKNOWN_KEY, "it belongs into `match`"
    if key in ("steps", "transform"):
        return codes.UNKNOWN_KEY, "write `transformations`, a list of steps"
    return None


def _stand_in_step() -> Transformation:
    return find_transformation("trim").model_validate({"column": "stand_in"})


def _stand_in() -> Correction:
    return Correction.model_validate(
        {"id": "stand_in", "match": {"where": "true"}, "transformations": (_stand_in_step(),)}
    )


def rule_ids(suite: Node) -> frozenset[str]:
    """The ids of the rules of a suite, whatever else is wrong with it."""
    listed = suite.at(("rules",))
    return frozenset(item.at(("id",)).text or "" for item in listed.items) - {""}
