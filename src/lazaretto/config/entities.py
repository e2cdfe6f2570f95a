"""A file is one suite, or one source system with several entities; either way it comes out as suites."""

from __future__ import annotations

from dataclasses import replace

from lazaretto.config import codes
from lazaretto.config.presets import merge
from lazaretto.config.problems import Problems
from lazaretto.config.yaml_tree import Node

_OF_ONE_ENTITY = ("suite", "entity")


def suites_in(root: Node, problems: Problems) -> list[Node]:
    """The suites of a file: the file itself, or one for each entity with the shared keys merged in."""
    entities = root.get("entities")
    if entities is None:
        return [root]
    if not entities.is_mapping or not entities.entries:
        found = "empty" if not entities.value else entities.kind
        expected = "names and their suites, such as `transactions: {asset: ..., rules: [...]}`"
        problems.add(codes.BAD_ENTITIES, entities.place, f"`entities` is {found}", expected=expected)
        return []
    shared = dict(root.entries)
    del shared["entities"]
    for key in _OF_ONE_ENTITY:
        if key in shared:
            place = shared.pop(key).key_location
            problems.add(
                codes.BAD_ENTITIES,
                place,
                f"`{key}` cannot be shared by entities",
                hint="move it into each of them",
            )
    if "source_system" not in shared:
        message = "`source_system` is missing: a file with `entities` describes one"
        problems.add(codes.MISSING_KEY, root.location, message)
    return [
        _entity(name, child, root.with_entries(shared), problems)
        for name, child in entities.entries.items()
        if _is_suite(name, child, problems)
    ]


def _is_suite(name: str, child: Node, problems: Problems) -> bool:
    if child.is_mapping:
        return True
    problems.add(codes.BAD_ENTITIES, child.place, f"the entity {name} is {child.kind}", expected="the keys of a suite")
    return False


def _entity(name: str, own: Node, shared: Node, problems: Problems) -> Node:
    at = own.key_location or own.location
    named = own.get("entity")
    if named is not None and named.value != name:
        message = f"`entity: {named.shown}` stands under the name {name}"
        problems.add(codes.BAD_ENTITIES, named.place, message, hint="remove it: the name is the entity")
    merged = merge(shared, replace(own, location=at))
    entries = dict(merged.entries)
    entries["entity"] = Node(name, at, key_location=at, text=name)
    system = entries.get("source_system")
    if "suite" not in entries and system is not None and isinstance(system.value, str):
        default = f"{system.value}-{name}"
        entries["suite"] = Node(default, at, key_location=at, text=default)
    return replace(merged, value=entries)
