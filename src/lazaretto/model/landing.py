"""A landing folder: how a file drop shows that it is complete, and what it says of itself."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from lazaretto.model.units import DurationField


class Landing(BaseModel):
    """What is asked of a file before anybody reads it as data. Files are UTF-8, one record a line, `.gz` or plain."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    of: Literal["csv", "json"] = "csv"
    """csv or json: what a line is."""
    files: str = "*"
    """Which files of the folder, such as `orders_*.csv`."""
    settle: DurationField = timedelta(seconds=5)
    """A file that nobody has written to for so long has arrived, where no marker is asked for."""
    done: str | None = None
    """Name of the marker that comes after a complete file, such as `{name}.done`. It may be a manifest: JSON with
    `rows`, `bytes` or `sha256`."""
    names: bool = False
    """The first line of a CSV file has the names of the columns."""
    header: str | None = None
    """Regular expression of a header record, the first line; it is no data."""
    trailer: str | None = None
    """Regular expression of a trailer record, the last line; a group `rows` is the declared number of rows."""
    separator: str = ","
    """Between the values of a CSV line."""

    @field_validator("header", "trailer")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"not a regular expression: {error}") from None
        return value
