"""What a run gives back."""

from __future__ import annotations

import html
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.words import CheckStatus, GateAction, Publication, Severity


class RunResult(BaseModel):
    """What became of a batch. Frozen; `to_dict()` is the document that `--output json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    run_id: str
    outcome: Literal["done", "nothing_new", "already_published", "locked", "dry_run"] = "done"
    """nothing_new and already_published: nothing was read, judged or written."""
    batch_id: str | None = None
    suite: str
    suite_version: str
    rule_set_fingerprint: str
    asset: str
    scope: dict[str, str] = Field(default_factory=dict)
    action: GateAction | None = None
    reason_code: str = ""
    max_severity: Severity | None = None
    publication: Publication | None = None
    published_version: int | None = None
    counts: Counts = Counts()
    message: str = ""
    decision: GateDecision | None = Field(default=None, repr=False)
    seconds: dict[str, float] = Field(default_factory=dict, repr=False)
    """How long each phase took."""
    rolled_forward: tuple[str, ...] = ()
    """Batches that earlier runs had left open and this one finished."""
    recycled: tuple[str, ...] = ()
    """Batches of corrected records that went first (`recycle: {at_start: true}`)."""
    foreign_changes: tuple[str, ...] = ()
    """What others did to the asset's rows since our last commit there (RESTORE, DELETE …), in sentences."""
    corrected: int | None = None
    """Records that corrections mended at the end of the run; None where none were tried."""
    exit_code: int = 0

    @property
    def published(self) -> bool:
        """Whether rows became visible."""
        return self.published_version is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        results = self.decision.results if self.decision else ()
        return self.model_dump(mode="json", exclude={"decision"}) | {
            "decision_id": self.decision.decision_id if self.decision else None,
            "results": [
                {
                    "rule_id": r.rule_id,
                    "rule_version": r.rule_version,
                    "column": r.column,
                    "status": r.status.value,
                    "checked": r.checked,
                    "failed": r.failed,
                    "errored": r.errored,
                    "severity": r.severity.value,
                }
                for r in results
            ],
        }

    def __repr__(self) -> str:
        what = self.action.value if self.action else self.outcome
        counts = self.counts
        return (
            f"RunResult({self.asset}: {what}, {counts.input:,} in = {counts.accepted:,} accepted + "
            f"{counts.quarantined:,} quarantined + {counts.held:,} held)"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        bad = [r for r in (self.decision.results if self.decision else ()) if r.status is not CheckStatus.PASS]
        rows = "".join(
            f"<tr><td>{html.escape(r.rule_id)}</td><td>{html.escape(r.column or '')}</td><td>{r.status.value}</td>"
            f"<td>{r.severity.value}</td><td>{r.failed:,}</td></tr>"
            for r in bad
        )
        head = "<tr><th>rule</th><th>column</th><th>status</th><th>severity</th><th>rows</th></tr>"
        return f"<p><b>{html.escape(repr(self))}</b></p><table>{head}{rows}</table>"
