"""Spark's checkpoint of a query without state: read, compared, and written anew from what the target's log says."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from lazaretto.spark.files import Files

_NOTED = 'v1\n{"nextBatchWatermarkMs":0}'
_PLANNED = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n'


class Torn(Exception):
    """A file of the checkpoint is missing, cut off or not what Spark writes."""


@dataclass(frozen=True)
class Span:
    """A stretch of the source: offsets as Spark writes them."""

    start: str | None
    end: str


@dataclass(frozen=True)
class Checkpoint:
    """The files of one query."""

    files: Files
    path: str

    @property
    def query_id(self) -> str:
        """Spark's id of the query; it lasts as long as the checkpoint."""
        return str(_read_json(self.files.read_text(f"{self.path}/metadata"), "metadata")["id"])

    def last(self) -> int | None:
        """Number of the last micro-batch that was planned."""
        return max(self._numbers("offsets"), default=None)

    def is_noted(self, batch: int) -> bool:
        """Whether Spark has noted that a micro-batch is done."""
        text = self.files.read_text(f"{self.path}/commits/{batch}")
        if text is None:
            return False
        _lines(text, f"commits/{batch}", 2)
        return True

    def span(self, batch: int) -> Span:
        """What a micro-batch takes."""
        return Span(self._offset(batch - 1) if batch else None, self._offset(batch))

    def look(self) -> tuple[Span, bool] | None:
        """The last stretch that was planned and whether it is noted as done; None for a fresh checkpoint. Or Torn."""
        batch = self.last()
        if batch is None:
            if self._numbers("commits"):
                raise Torn("it has commits, and no offsets")
            return None
        _ = self.query_id
        if batch and not self.is_noted(batch - 1):
            raise Torn(f"batch {batch} was planned before batch {batch - 1} was done")
        return self.span(batch), self.is_noted(batch)

    def write(self, offset: str) -> None:
        """Make a checkpoint that goes on from here. Half of one is harmless: it is compared before Spark reads it."""
        self.clear()
        self.files.put_if_absent(f"{self.path}/metadata", json.dumps({"id": str(uuid.uuid4())}))
        self.files.put_if_absent(f"{self.path}/commits/0", _NOTED)
        self.files.put_if_absent(f"{self.path}/offsets/0", _PLANNED + offset)

    def clear(self) -> None:
        """Remove it."""
        self.files.delete(self.path)

    def _offset(self, batch: int) -> str:
        name = f"offsets/{batch}"
        lines = _lines(self.files.read_text(f"{self.path}/{name}"), name, 3)
        _read_json(lines[1], name)
        _read_json(lines[2], name)
        return lines[2]

    def _numbers(self, folder: str) -> list[int]:
        return [int(name) for name in self.files.list(f"{self.path}/{folder}") if name.isdigit()]


def _lines(text: str | None, name: str, wanted: int) -> list[str]:
    lines = (text or "").splitlines()
    if len(lines) != wanted or lines[0] != "v1":
        raise Torn(f"{name} is {'missing' if text is None else 'cut off or not of version 1'}")
    return lines


def _read_json(text: str | None, name: str) -> dict[str, object]:
    try:
        read = json.loads(text or "")
    except ValueError:
        raise Torn(f"{name} is missing or cut off") from None
    if not isinstance(read, dict):
        raise Torn(f"{name} is not what Spark writes")
    return read
