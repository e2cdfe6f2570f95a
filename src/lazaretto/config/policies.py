"""Policies of a project: policies/NAME.yml, each a table whose first fitting row decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lazaretto.config import codes
from lazaretto.config.presets import SUFFIXES, confined
from lazaretto.config.problems import Problems, config_error, display_path
from lazaretto.config.project import Project
from lazaretto.config.validation import build, present
from lazaretto.config.yaml_reader import read_file
from lazaretto.config.yaml_tree import Node
from lazaretto.model.catalogue import nearest
from lazaretto.model.policy import BUILT_IN, Policy, PolicyRow
from lazaretto.model.policy_cases import covering, deciding_rows, grouped, in_words, inversions, silent
from lazaretto.model.values import Location

FOLDER = "policies"
SHOWN = 5
"""Groups of cases named in a warning; `lazaretto policy explain` answers for any other."""


class _File(BaseModel):
    """What stands in a policy file besides its rows."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    description: str = ""
    """What the policy is for."""
    approvals: Literal["asserted", "authenticated"] = "asserted"
    """How sure the gate has to be of who approved: asserted (the system's user) or authenticated (a token)."""
    rows: list[object] = Field(min_length=1)
    """The rows; the first that fits decides."""


@dataclass(frozen=True)
class WrittenPolicy:
    """A policy and the places its rows were written at."""

    policy: Policy
    description: str = ""
    places: tuple[Location | None, ...] = ()

    def place(self, row: PolicyRow) -> Location | None:
        """Where a row stands; None for the built-in ones."""
        at = next((i for i, own in enumerate(self.policy.rows) if own is row), None)
        return None if at is None or at >= len(self.places) else self.places[at]


def policy_files(root: Path) -> dict[str, Path]:
    """The policies of a project by name."""
    found = sorted(path for path in (root / FOLDER).glob("*") if path.suffix in SUFFIXES)
    return {path.stem: path for path in found}


def load_policy(name: str | None, project: Project) -> WrittenPolicy:
    """A policy of a project by its name (None: the project's choice), or by its file. Raises ConfigError."""
    chosen = name or project.policy
    if chosen is None or chosen == BUILT_IN.name:
        return WrittenPolicy(BUILT_IN, "What decides where a project has no policy of its own.")
    problems = Problems()
    files = policy_files(project.folder)
    path = Path(chosen).absolute() if Path(chosen).suffix in SUFFIXES else files.get(chosen)
    if path is None:
        note_unknown(chosen, list(files), None if name else project.location, problems)
        raise config_error(problems.found)
    written = read_policy(path, project.folder, problems)
    problems.raise_errors()
    assert written is not None
    return written


def note_unknown(name: str, known: list[str], location: Location | None, problems: Problems) -> None:
    """Say which policies there are."""
    close = nearest(name, known)
    problems.add(
        codes.NO_POLICY,
        location,
        f"there is no policy {name!r}",
        expected=f"one of {', '.join((BUILT_IN.name, *sorted(known)))}",
        hint=f"did you mean {close}?" if close else f"write {FOLDER}/{name}.yml",
    )


def read_policy(path: Path, root: Path, problems: Problems) -> WrittenPolicy | None:
    """The policy in a file, or None if anything is wrong with it; what is, and what is suspicious, is noted."""
    shown = display_path(path, root)
    if not confined(path, root):
        message = f"is outside the project's folder {display_path(root)}"
        problems.add(codes.OUTSIDE, Location(shown, 1, 1), message, hint="copy it into the project")
        return None
    before = len(problems.errors)
    tree = read_file(path, shown, problems)
    if tree is None:
        return None
    if not tree.is_mapping:
        problems.add(codes.NOT_A_MAPPING, tree.location, f"the file is {tree.kind}", expected="`rows:` and a list")
        return None
    listed = tree.get("rows")
    file = build(_File, tree, problems, "a policy")
    rows = [_row(item, problems) for item in listed.items] if listed is not None else []
    sound = tuple(row for row in rows if row is not None)
    if file is None or listed is None or len(problems.errors) > before or len(sound) < len(rows):
        return None
    places = tuple(item.location for item in listed.items)
    _examine(path.stem, sound, listed, places, problems)
    if len(problems.errors) > before:
        return None
    return WrittenPolicy(Policy(name=path.stem, rows=sound, approvals=file.approvals), file.description, places)


def _row(node: Node, problems: Problems) -> PolicyRow | None:
    if not node.is_mapping:
        problems.add(
            codes.WRONG_KIND, node.place, f"a row is {node.kind}", expected="keys, such as {status: fail, action: warn}"
        )
        return None
    return build(PolicyRow, present(node, problems).node, problems, "a row of a policy")


def _examine(
    name: str, rows: tuple[PolicyRow, ...], listed: Node, places: tuple[Location, ...], problems: Problems
) -> None:
    """Rows that are never reached are errors; silence, and mildness for something worse, are warnings."""
    deciding = deciding_rows(rows)
    for position, place in enumerate(places):
        earlier = covering(rows, position, deciding)
        if earlier is None:
            continue
        if earlier:
            lines = " and ".join(f"line {places[i].line}" for i in earlier)
            message = (
                f"line {place.line} is never reached: {lines} decide{'s' if len(earlier) == 1 else ''} all its cases"
            )
            hint = "move it up, or remove it"
        else:
            message, hint = f"line {place.line} is for no case that can occur", "correct its words, or remove it"
        problems.add(codes.UNREACHABLE_ROW, place, message, hint=hint)
    if cases := silent(deciding):
        groups = grouped(cases)
        more = f" … and {len(groups) - SHOWN} more" if len(groups) > SHOWN else ""
        message = f"{name} says nothing of {len(cases):,} cases, which are closed: {'; '.join(groups[:SHOWN])}{more}"
        problems.add(codes.SILENT_POLICY, listed.place, message, hint="add a row for them, if only the last one")
    for found in inversions(rows, deciding):
        better = "the default" if found.better_row is None else f"line {places[found.better_row].line}"
        message = (
            f"line {places[found.worse_row].line} does {found.worse_action} for ({in_words(found.worse)}), while "
            f"{better} does {found.better_action} for the milder ({in_words(found.better)})"
        )
        problems.add(codes.MILDER_FOR_WORSE, places[found.worse_row], message)
