"""A source as a stream sees it: what reads it, and how its offsets are kept as numbers in the target's log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from lazaretto.model.seal import SealedMark
from lazaretto.model.suite import Suite
from lazaretto.pipeline.sources import SourceError, Taken
from lazaretto.pipeline.stream.checkpoint import Span
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Marks = Mapping[str, int]
"""How far a source was taken: application id in the target's log → number."""


class Feed(Protocol):
    """One source of one suite."""

    @property
    def name(self) -> str:
        """How the source is called in messages."""

    def frame(self) -> DataFrame:
        """The source as Spark streams it."""

    def taken(self, frame: DataFrame, span: Span, query_id: str, batch: int) -> Taken:
        """A micro-batch, ready to be judged."""

    def knows(self, offset: str) -> bool:
        """Whether an offset is of this very source, and not of one that it replaced."""

    def marks(self, offset: str | None) -> Marks:
        """An offset as numbers."""

    def reached(self, logs: DeltaLogs, target: str) -> Marks:
        """How far the target's log says that the source was taken."""

    def offset(self, marks: Marks) -> str:
        """The offset that these numbers mean."""

    @property
    def unit(self) -> str:
        """What its lag is counted in."""

    def behind(self, offset: str) -> int:
        """How much is not taken yet."""


def sealed_marks(since: Marks, until: Marks) -> tuple[SealedMark, ...]:
    """What a batch changes, in the target's log."""
    return tuple(SealedMark(app=app, since=since.get(app, -1), until=until[app]) for app in sorted(until))


def found(logs: DeltaLogs, target: str, apps: list[str]) -> Marks:
    """The numbers that the target's log has for these ids."""
    if not logs.exists(target):
        return {}
    transaction = logs.begin(target)
    known = {app: logs.noted(target, transaction, app) for app in apps}
    return {app: number for app, number in known.items() if number >= 0}


_REFUSED = {
    "ignoremissingfiles": "rows of missing files would be lost without a word",
    "ignorecorruptfiles": "rows of damaged files would be lost without a word",
    "ignorechanges": "rewritten rows would come twice",
    "ignoredeletes": "what is deleted before it was taken would be lost without a word",
    "skipchangecommits": "rows that an UPDATE or MERGE writes would be lost without a word",
    "readchangefeed": "a stream takes appended rows only",
    "asyncprogresstrackingenabled": "a batch has to be finished before the next one is planned",
}


def refuse_options(suite: Suite) -> None:
    """Options by which rows could be lost or doubled are refused, with the reason."""
    options = suite.source.options if suite.source else {}
    for name, value in options.items():
        lower, switched_on = name.casefold(), value.strip().casefold() != "false"
        if lower == "failondataloss" and not switched_on:
            raise SourceError(
                "the source option failOnDataLoss=false is refused: messages that expired before they were taken would "
                "be lost without a word. Remove it; if the stream then stops, see `lazaretto doctor --stream`"
            )
        if lower in _REFUSED and switched_on:
            raise SourceError(f"the source option {name} is refused in a stream: {_REFUSED[lower]}. Remove it")
