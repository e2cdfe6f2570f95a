"""Corrected records are taken up between two micro-batches, without a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.recycle import recycle
from lazaretto.quarantine.records import exists
from lazaretto.spark.commits import commits
from lazaretto.spark.delta_log import DeltaLogs


@dataclass
class Recycling:
    """Sends corrected records back when somebody touched the quarantine, and looks no further while nobody did."""

    bench: Bench
    env: str | None
    wait: float
    say: Callable[[str], None]
    _looked_at: int = -1
    """Version of the quarantine up to which everything is known."""

    def __call__(self, suite: Suite) -> None:
        """Send back what is corrected, and tell what became of it."""
        for result in self._sent(suite):
            counts = result.counts
            self.say(f"{counts.input:,} corrected records sent back, {counts.accepted:,} of them are published now")

    def _sent(self, suite: Suite) -> list[RunResult]:
        bench, path = self.bench, self.bench.places.records
        if not exists(bench.spark, path):
            return []
        version = DeltaLogs(bench.spark).facts(path).version
        if version == self._looked_at:
            return []
        # What a stream itself does there is to append; a correction or an edit by SQL takes rows away as well.
        touched = self._looked_at < 0 or any(c.removed for c in commits(bench.files, path, self._looked_at + 1))
        results = recycle(bench, suite, self.env, wait=self.wait) if touched else []
        self._looked_at = version
        return [result for result in results if result.outcome == "done"]
