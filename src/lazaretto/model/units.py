"""Durations and sizes as people write them: `5m`, `2d`, `64MB`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}

_DURATION = re.compile(r"\A\s*(\d+)\s*([smhdw])\s*\Z", re.ASCII)
_SIZE = re.compile(r"\A\s*(\d+)\s*([KMGT]?B)\s*\Z", re.ASCII | re.IGNORECASE)


def parse_duration(raw: Any) -> Any:
    """Read `90s`, `5m`, `1h`, `2d` or `1w`; a bare number could mean anything and is refused."""
    if isinstance(raw, timedelta):
        return raw
    if isinstance(raw, str) and (found := _DURATION.match(raw)):
        try:
            return timedelta(seconds=int(found.group(1)) * _SECONDS[found.group(2)])
        except OverflowError:
            raise ValueError(f"{raw} is longer than any data could be old") from None
    raise ValueError("expected a duration such as 90s, 5m, 1h, 2d or 1w")


def duration_words(duration: timedelta) -> str:
    """The shortest way to write a duration: `5m`."""
    seconds = round(duration.total_seconds())
    for unit in ("w", "d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def parse_size(raw: Any) -> Any:
    """Read `64MB` (KB, MB, GB are powers of 1024) or a number of bytes."""
    if isinstance(raw, str) and (found := _SIZE.match(raw)):
        return int(found.group(1)) * _BYTES[found.group(2).upper()]
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return raw
    raise ValueError("expected a size such as 64MB, or a number of bytes")


DurationField = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(duration_words),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d+\s*[smhdw]\s*$", "examples": ["5m", "2d"]}),
]

SizeField = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^\s*\d+\s*([KkMmGgTt]?[Bb])\s*$"},
                {"type": "integer", "minimum": 0},
            ],
            "examples": ["64MB"],
        }
    ),
]
