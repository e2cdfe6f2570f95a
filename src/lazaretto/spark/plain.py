"""Values of Spark's rows as plain data, ready for JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any


def plain(value: Any) -> Any:
    """A value as plain data: structs as dictionaries, VARIANT as what it holds, bytes in hex."""
    from pyspark.sql import Row
    from pyspark.sql.types import VariantVal

    if isinstance(value, VariantVal):
        return json.loads(value.toJson())
    if isinstance(value, Row):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value


def plain_utc(value: Any) -> Any:
    """The same, with moments in UTC; PySpark gives them by the clock of this process."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: plain_utc(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain_utc(part) for part in value]
    return value
