"""Models as JSON that survives both databases and comes back equal.

JSON as databases keep it is less than Python's: no NaN or infinity, no safe number beyond 2^53 (JSONB turns
1e16 into an integer), and in JSONB no NUL in text. Such values become `{"$int": "9007199254740993"}`; all else is
plain JSON, to be queried with SQL.
"""

from __future__ import annotations

import math
from typing import Any

from pydantic import ValidationError

from lazaretto.model.results import GateDecision
from lazaretto.store.canonical import SAFE_INTEGER
from lazaretto.store.errors import StoreError


def encode(value: Any) -> Any:
    """Plain JSON for `value`, with tags where JSON has no word."""
    match value:
        case None | bool():
            return value
        case str():
            text = str.__str__(value)
            return text if _is_storable(text) else {"$text": text.encode("utf-8", "surrogatepass").hex()}
        case int():
            return int(value) if abs(value) <= SAFE_INTEGER else {"$int": str(value)}
        case float():
            return value if math.isfinite(value) and abs(value) <= SAFE_INTEGER else {"$float": repr(value)}
        case list() | tuple():
            return [encode(item) for item in value]
        case dict():
            if all(isinstance(key, str) and _is_storable(key) and not key.startswith("$") for key in value):
                return {str.__str__(key): encode(item) for key, item in value.items()}
            return {"$pairs": [[encode(key), encode(item)] for key, item in value.items()]}
    raise StoreError(f"A value of type {type(value).__name__} cannot be stored; only JSON values can.")


def decode(value: Any) -> Any:
    """What `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag in _READERS:
            return _READERS[tag](content)
    return {key: decode(item) for key, item in value.items()}


_READERS: dict[str, Any] = {
    "$text": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "$int": int,
    "$float": float,
    "$pairs": lambda content: {decode(key): decode(item) for key, item in content},
}


def _is_storable(text: str) -> bool:
    """No NUL, which JSONB refuses, and no lone surrogate, which UTF-8 does."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_decision(decision: GateDecision) -> dict[str, Any]:
    """A decision with its full input."""
    encoded: dict[str, Any] = encode(decision.model_dump(mode="json"))
    return encoded


def to_decision(payload: Any, decision_id: str) -> GateDecision:
    """The decision that was stored."""
    try:
        return GateDecision.model_validate(decode(payload))
    except (ValidationError, ValueError, TypeError, ArithmeticError) as error:
        raise StoreError(
            f"The stored decision {decision_id} cannot be read: it was altered or written by another version "
            "(lazaretto verify tells which)."
        ) from error
