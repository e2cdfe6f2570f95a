"""What was begun on our own tables and has to be finished: moves to the archive and back, erasures.

A chore is a file in the lake, put before the first change and removed after the last. Every step of it may be repeated,
so whoever comes next carries it on, like the seal of a batch.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lazaretto.pipeline.places import Places
from lazaretto.spark.files import Files


class Chore(BaseModel):
    """Something to be done to records, as it was decided."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    chore_id: str
    kind: Literal["archive", "restore", "erase"]
    begun_at: datetime
    actor: str
    assurance: str = "asserted"
    reason: str
    records: tuple[str, ...] = ()
    """Which records; of a move to the archive it says the archive."""
    condition: str = ""
    """SQL of the records to be archived."""
    before: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Records in the table when it began: asset → status → number."""
    details: dict[str, Any] = Field(default_factory=dict)
    """What else the evidence shall say."""

    @property
    def application_id(self) -> str:
        """By this name the logs of the tables know it."""
        return f"lazaretto:chore:{self.chore_id}"


def begin(files: Files, places: Places, chore: Chore) -> None:
    """Decide it: from now on it will be done."""
    files.put_if_absent(f"{places.chores}/{chore.chore_id}.json", chore.model_dump_json(indent=1))


def close(files: Files, places: Places, chore: Chore) -> None:
    """It is done."""
    files.delete(f"{places.chores}/{chore.chore_id}.json")


def open_chores(files: Files, places: Places) -> list[Chore]:
    """What is not finished, the oldest first."""
    names = (name for name in files.list(places.chores) if name.endswith(".json") and not name.startswith("."))
    texts = (files.read_text(f"{places.chores}/{name}") for name in names)
    return sorted((Chore.model_validate_json(text) for text in texts if text), key=lambda chore: chore.begun_at)


def is_open(files: Files, places: Places, chore: Chore) -> bool:
    """Whether nobody else has finished it meanwhile."""
    return files.exists(f"{places.chores}/{chore.chore_id}.json")


def moving(files: Files, places: Places) -> bool:
    """Whether some records are on their way between table and archive."""
    return any(chore.kind != "erase" for chore in open_chores(files, places))
