"""Secrets: named in the configuration, given a value only where they are used, and never shown.

A secret `${secret:scope/key}` is looked up, in this order: by providers that a program registered, in the
environment variable LAZARETTO_SECRET_<SCOPE>_<KEY>, in the file LAZARETTO_SECRETS_DIR/scope/key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from lazaretto.model.errors import ConfigError

Provider = Callable[[str, str], str | None]
"""Given scope and key: the secret, or None if this provider does not have it."""

_REFERENCE = re.compile(r"\$\$\{(?=secret:)|\$\{secret:(?P<scope>[A-Za-z0-9_.\-]+)/(?P<key>[A-Za-z0-9_.\-/]+)\}")
_providers: list[Provider] = []


class SecretMissing(ConfigError):
    """No provider has this secret."""

    def __init__(self, scope: str, key: str) -> None:
        self.scope, self.key = scope, key
        super().__init__(
            f"the secret {scope}/{key} is not known; set the environment variable "
            f"{variable_name(scope, key)}, "
            f"or write it to the file {scope}/{key} in the folder named by LAZARETTO_SECRETS_DIR"
        )


class Secret:
    """Text that may hold secrets. It shows itself only to who asks by `reveal()`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself. Hand it over at once; do not keep, log or format it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('**********')"

    def __str__(self) -> str:
        return "**********"

    def __format__(self, spec: str) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret is not pickled")


def register_provider(provider: Provider) -> Callable[[], None]:
    """Ask this provider before the built-in ones; the function returned takes it out again."""
    _providers.insert(0, provider)

    def remove() -> None:
        if provider in _providers:
            _providers.remove(provider)

    return remove


def resolve(text: str) -> Secret:
    """The text with every `${secret:scope/key}` in it replaced."""

    def value(match: re.Match[str]) -> str:
        return "${" if match.group("scope") is None else _look_up(match.group("scope"), match.group("key"))

    return Secret(_REFERENCE.sub(value, text))


def revealed(options: Mapping[str, str]) -> dict[str, str]:
    """Options for a reader with their secrets in place, at the moment they are needed."""
    return {key: resolve(value).reveal() for key, value in options.items()}


def has_secret(text: str) -> bool:
    """Whether the text names a secret."""
    return any(match.group("scope") for match in _REFERENCE.finditer(text))


def variable_name(scope: str, key: str) -> str:
    """The environment variable that gives a secret."""
    return "LAZARETTO_SECRET_" + re.sub(r"[^A-Z0-9]", "_", f"{scope}_{key}".upper())


def _look_up(scope: str, key: str) -> str:
    for provider in (*_providers, _from_environment, _from_folder):
        found = provider(scope, key)
        if found is not None:
            return found
    raise SecretMissing(scope, key)


def _from_environment(scope: str, key: str) -> str | None:
    return os.environ.get(variable_name(scope, key))


def _from_folder(scope: str, key: str) -> str | None:
    folder = os.environ.get("LAZARETTO_SECRETS_DIR")
    if not folder:
        return None
    root = Path(folder).resolve()
    file = (root / scope / key).resolve()
    if not file.is_relative_to(root) or not file.is_file():  # `..` and links must not lead out of the folder
        return None
    return file.read_text(encoding="utf-8").rstrip("\r\n")
