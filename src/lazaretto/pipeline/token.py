"""Tokens that say who somebody is: signed with a key that this project shares with whoever issues them.

A JSON Web Token with HMAC-SHA256, and no other algorithm, least of all none. Whoever knows the key can issue tokens: it
belongs to the issuer and to the machine that approvals are given on.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any

from lazaretto.model.errors import LazarettoError

SHORTEST_KEY = 32


class TokenRefused(LazarettoError):
    """The token does not prove who somebody is."""


def subject(token: str, key: str, *, now: float, issuer: str | None = None) -> str:
    """Whom a token names. TokenRefused if it is forged, expired, for later, or names nobody."""
    if len(key.encode()) < SHORTEST_KEY:
        raise TokenRefused(f"`tokens.key` is too short to be trusted: it needs {SHORTEST_KEY} characters or more")
    head, _, rest = token.strip().partition(".")
    body, _, signature = rest.partition(".")
    expected = hmac.new(key.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    if _json(head).get("alg") != "HS256" or not hmac.compare_digest(_bytes(signature), expected):
        raise TokenRefused("LAZARETTO_TOKEN was not signed with this project's `tokens.key` (algorithm HS256)")
    claims = _json(body)
    until, since = claims.get("exp"), claims.get("nbf", 0)
    if not isinstance(until, int | float) or until <= now:
        raise TokenRefused("LAZARETTO_TOKEN has expired, or says no time (`exp`) at which it does: ask for a new one")
    if not isinstance(since, int | float) or since > now:
        raise TokenRefused("LAZARETTO_TOKEN is not valid yet (`nbf`)")
    if issuer is not None and claims.get("iss") != issuer:
        raise TokenRefused(f"LAZARETTO_TOKEN was not issued by {issuer} (`iss`)")
    name = claims.get("sub")
    if not isinstance(name, str) or not name.strip():
        raise TokenRefused("LAZARETTO_TOKEN names nobody (`sub`)")
    return name.strip()


def _bytes(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise TokenRefused(
            "LAZARETTO_TOKEN is no token: expected three parts in base64url, with dots between"
        ) from None


def _json(part: str) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(part))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise TokenRefused("LAZARETTO_TOKEN is no token: its parts hold no JSON")
    return found
