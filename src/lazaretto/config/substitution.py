"""`${...}` in values: variables of the environment, defaults, environment variables and the names of secrets.

It works on parsed values, never on the file's text, so that no value can add a key or a rule. A secret is not
replaced here: its name stays in the model, and `secrets.resolve` turns it into a value where it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lazaretto.config import codes, scalars
from lazaretto.config.problems import Problems
from lazaretto.config.yaml_tree import Node, Path
from lazaretto.model.catalogue import nearest

Variables = Mapping[str, Any]
"""Names and what they stand for: a scalar, or a list of scalars."""

_UNRESOLVED: Any = object()
_TOKEN = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")
_SECRET = re.compile(r"[A-Za-z0-9_.\-]+/[A-Za-z0-9_.\-]+(?:/[A-Za-z0-9_.\-]+)*\Z")


def secrets_in_suites(path: Path) -> bool:
    """Whether a suite may name a secret here: among the options of a reader, or as the key of the quarantine."""
    if path[-2:] == ("payload", "key"):
        return True
    return len(path) >= 3 and path[-2] == "options" and path[-3] in ("source", "reference")


@dataclass(frozen=True)
class Substitution:
    """Where names are looked up, and where the names of secrets may stand."""

    variables: Variables
    problems: Problems
    environment: str | None = None
    secret_allowed: Callable[[Path], bool] = secrets_in_suites
    process: Mapping[str, str] | None = None
    lenient: bool = False
    """The project is broken, so unknown variables are its fault: they are left alone without a word."""

    def apply(self, node: Node, path: Path = ()) -> Node:
        """The same tree with every reference replaced."""
        if isinstance(node.value, dict):
            return node.with_entries({key: self.apply(child, (*path, key)) for key, child in node.value.items()})
        if isinstance(node.value, tuple):
            items = tuple(self.apply(child, (*path, i)) for i, child in enumerate(node.value))
            return replace(node, value=items)
        if isinstance(node.value, str) and "${" in node.value:
            return self._scalar(node, node.value, path)
        return node

    def _scalar(self, node: Node, text: str, path: Path) -> Node:
        whole = _TOKEN.fullmatch(text)
        if whole and whole.group("body") is not None:
            return _replaced(node, self._reference(whole.group("body"), node, 0, path, whole=True), text)
        pieces: list[Any] = []
        end = 0
        for token in _TOKEN.finditer(text):
            pieces += text[end : token.start()], self._piece(token, node, text, path)
            end = token.end()
        pieces.append(text[end:])
        return _replaced(node, _UNRESOLVED if _UNRESOLVED in pieces else "".join(pieces), text)

    def _piece(self, token: re.Match[str], node: Node, text: str, path: Path) -> Any:
        body = token.group("body")
        if token.group() == "$${":
            # Where secrets may stand, the escape must outlive this pass, or it would be taken for a secret
            # later.
            late = self.secret_allowed(path) and text.startswith("secret:", token.end())
            return "$${" if late else "${"
        if body is None:
            place = node.place_in_text(token.start())
            self.problems.add(
                codes.BAD_REFERENCE,
                place,
                "`${` is not closed",
                hint="close it by }, or write $${ for the text itself",
            )
            return _UNRESOLVED
        value = self._reference(body, node, token.start(), path, whole=False)
        if isinstance(value, list):
            self.problems.add(codes.NOT_TEXT, node.location, f"`${{{body}}}` is a list and stands inside text")
            return _UNRESOLVED
        return value if value is _UNRESOLVED else scalars.text_of(value)

    def _reference(self, body: str, node: Node, offset: int, path: Path, *, whole: bool) -> Any:
        """What a reference stands for; one that cannot be resolved is noted."""
        place = node.place_in_text(offset)
        name, has_default, default = body.partition(":-")
        written = f"${{{body}}}"
        if name.startswith("secret:"):
            sound = self._check_secret(name.removeprefix("secret:"), bool(has_default), node, offset, path)
            return written if sound else _UNRESOLVED
        known: Variables = self.variables
        if is_process := name.startswith("env:"):
            name = name.removeprefix("env:")
            known = os.environ if self.process is None else self.process
        if not _NAME.match(name):
            expected = "${name}, ${name:-default}, ${env:NAME} or ${secret:scope/key}"
            self.problems.add(codes.BAD_REFERENCE, place, f"`{written}` cannot be read", expected=expected)
        elif name in known:
            return known[name]
        elif has_default:
            return _resolved(default) if whole else default
        elif is_process:
            self.problems.add(codes.NO_ENVIRONMENT_VARIABLE, place, f"the environment variable {name} is not set")
        elif not self.lenient:
            self.problems.add(
                codes.UNRESOLVED, place, f"`{written}` has no value{self._where()}", hint=self._hint(name)
            )
        return _UNRESOLVED

    def _where(self) -> str:
        return f" in the environment {self.environment}" if self.environment else ", as no environment is chosen"

    def _hint(self, name: str) -> str:
        if close := nearest(name, self.variables):
            return f"did you mean ${{{close}}}?"
        if not self.environment:
            return f"choose one by --env, or give a default: ${{{name}:-...}}"
        listed = ", ".join(sorted(self.variables)) or "no variable"
        return f"it defines {listed}"

    def _check_secret(self, name: str, has_default: bool, node: Node, offset: int, path: Path) -> bool:
        place = node.place_in_text(offset)
        if not _SECRET.match(name) or has_default:
            self.problems.add(
                codes.BAD_REFERENCE,
                place,
                "a secret is misspelled",
                expected="${secret:scope/key}, without a default",
            )
        elif not self.secret_allowed(path):
            message = "a secret cannot stand here: it would end up in plans, results and stored text"
            self.problems.add(
                codes.SECRET_HERE,
                place,
                message,
                expected="secrets in the `options` of a source or reference only",
            )
        else:
            return True
        return False


def _resolved(default: str) -> Any:
    try:
        value = scalars.resolve(default)
    except scalars.NumberOutOfRange:
        return default
    return "" if value is None and not default else value


def _replaced(node: Node, value: Any, written: str) -> Node:
    if value is _UNRESOLVED:
        return replace(node, text_at=None, written=written, unresolved=True)
    if isinstance(value, list):
        items = tuple(replace(_replaced(node, item, written), key_location=None) for item in value)
        return replace(node, value=items, text=None, text_at=None, written=written)
    return replace(node, value=value, text=scalars.text_of(value), text_at=None, written=written)
