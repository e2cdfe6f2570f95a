"""`extends`: what several suites share stands in presets/NAME.yml and is merged into each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from lazaretto.config import codes
from lazaretto.config.problems import Problems, display_path
from lazaretto.config.yaml_reader import read_file
from lazaretto.config.yaml_tree import Node
from lazaretto.model.catalogue import nearest

SUFFIXES = (".yml", ".yaml")

_BY_ID = ("rules", "corrections")
"""Lists that are merged entry by entry."""


def confined(path: Path, root: Path) -> bool:
    """Whether a path lies in a folder after all links are resolved."""
    return path.resolve().is_relative_to(root.resolve())


@dataclass
class Presets:
    """The presets of a project; each file is read once."""

    root: Path
    problems: Problems
    read: dict[str, Node | None] = field(default_factory=dict)
    flawed: set[str] = field(default_factory=set)
    """Presets that were read with errors."""

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.root / "presets"

    def apply(self, node: Node, chain: tuple[str, ...] = ()) -> Node:
        """A suite (or preset) with everything it extends merged in below it."""
        base: Node | None = None
        for name, at in self._names(node, in_preset=bool(chain)):
            preset = self._preset(name, at, chain)
            if preset is not None:
                base = preset if base is None else merge(base, preset)
        return node if base is None else merge(base, node)

    def sound(self, node: Node, chain: tuple[str, ...] = ()) -> bool:
        """Whether everything a suite extends was found and is free of errors as YAML."""
        for name in (name for name, _ in self._names(node, in_preset=False)):
            preset = self.read.get(name)
            if preset is None or name in self.flawed or name in chain or not self.sound(preset, (*chain, name)):
                return False
        return True

    def read_unused(self) -> None:
        """Read the presets that no suite extends, so that their mistakes are found too."""
        for path in sorted(self.folder.glob("**/*")):
            name = path.relative_to(self.folder).with_suffix("").as_posix()
            if path.suffix in SUFFIXES and name not in self.read and confined(path, self.root):
                self.read[name] = read_file(path, display_path(path, self.root), self.problems)

    def _names(self, node: Node, *, in_preset: bool) -> list[tuple[str, Node]]:
        extends = node.get("extends")
        if extends is None or extends.value is None:
            return []
        listed = list(extends.items) if extends.is_list else [extends]
        names = [(item.value, item) for item in listed if isinstance(item.value, str) and item.value]
        if in_preset and len(names) < len(listed):  # a suite's own `extends` is judged with its other keys
            self.problems.add(
                codes.BAD_EXTENDS,
                extends.place,
                f"`extends` is {extends.kind}",
                expected="a name or a list of names",
            )
        return names

    def _preset(self, name: str, at: Node, chain: tuple[str, ...]) -> Node | None:
        if name in chain:
            circle = " → ".join((*chain[chain.index(name) :], name))
            self.problems.add(codes.PRESET_CYCLE, at.location, f"presets extend each other in a circle: {circle}")
            return None
        if name not in self.read:
            before = len(self.problems.errors)
            self.read[name] = self._read(name, at)
            if len(self.problems.errors) > before:
                self.flawed.add(name)
        preset = self.read[name]
        if preset is None:
            return None
        merged = self.apply(preset, (*chain, name))
        return merged.with_entries({key: child for key, child in merged.entries.items() if key != "extends"})

    def _read(self, name: str, at: Node) -> Node | None:
        paths = [self.folder / f"{name}{suffix}" for suffix in SUFFIXES]
        wild = "\0" in name or ".." in PurePath(name).parts or PurePath(name).is_absolute()
        if wild or not all(confined(path, self.root) for path in paths):
            message = f"the preset {name!r} is outside the project's folder"
            self.problems.add(codes.OUTSIDE, at.location, message, expected="the name of a file in presets/")
            return None
        found = next((path for path in paths if path.is_file()), None)
        if found is None:
            known = [
                p.relative_to(self.folder).with_suffix("").as_posix()
                for p in self.folder.glob("**/*")
                if p.suffix in SUFFIXES
            ]
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else f"presets/{name}.yml does not exist"
            self.problems.add(codes.NO_PRESET, at.location, f"there is no preset {name!r}", hint=hint)
            return None
        preset = read_file(found, display_path(found, self.root), self.problems)
        if preset is not None and not preset.is_mapping:
            self.problems.add(
                codes.NOT_A_MAPPING, preset.location, f"a preset is {preset.kind}", expected="keys and values"
            )
            return None
        return preset


def merge(base: Node, own: Node, *, top: bool = True) -> Node:
    """Two mappings as one: what is own wins, mappings and rules (by id) are merged, lists replaced."""
    entries = dict(base.entries)
    for key, child in own.entries.items():
        below = entries.get(key)
        if below is not None and top and key in _BY_ID and below.is_list and child.is_list:
            entries[key] = _merge_rules(below, child)
        elif below is not None and below.is_mapping and child.is_mapping:
            entries[key] = merge(below, child, top=False)
        else:
            entries[key] = child
    return own.with_entries(entries)


def _merge_rules(base: Node, own: Node) -> Node:
    """The preset's rules first, each overridden by the suite's rule of the same id."""
    rules = list(base.items)
    index = {_rule_id(rule): i for i, rule in enumerate(rules) if _rule_id(rule)}
    for rule in own.items:
        position = index.pop(_rule_id(rule), None)
        if position is None:
            rules.append(rule)
        else:
            rules[position] = _override(rules[position], rule)
    return replace(own, value=tuple(rules))


def _override(base: Node, own: Node) -> Node:
    check, other = base.get("check"), own.get("check")
    if check is not None and other is not None and check.value != other.value:
        return own  # another check altogether: the parameters of the old one would be unknown keys
    entries = dict(base.entries)
    if "column" in own.entries or "columns" in own.entries:
        entries = {key: child for key, child in entries.items() if key not in ("column", "columns")}
    return merge(base.with_entries(entries), own, top=False)


def _rule_id(rule: Node) -> str | None:
    named = rule.get("id")
    return named.text if named is not None and named.text else None
