"""How a held batch ends: who approved what, on whose request. Written once; the first of all ends wins."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from lazaretto.model.fingerprint import sha256
from lazaretto.model.results import Approval

RESOLUTION_FILE = "resolution.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Request(_Frozen):
    """Somebody asks that a held batch be released or discarded; somebody else decides."""

    by: str
    wish: Literal["release", "discard"]
    reason: str
    at: datetime


class Resolution(_Frozen):
    """The end of a held batch."""

    format: Literal[1] = 1
    kind: Literal["released", "discarded", "superseded"]
    """superseded: its source was judged again, and what came of that takes its place."""
    batch_id: str
    asset: str
    seal: str
    """Hash of the seal of the batch that is meant."""
    approval: Approval
    requested_by: str
    successor: str | None = None
    """The batch that takes its place."""
    at: datetime

    @property
    def approval_id(self) -> str:
        """Names the approval, so that it is put on record once."""
        return sha256([self.batch_id, self.kind, self.approval.model_dump(mode="json"), self.at.isoformat()])[:32]
