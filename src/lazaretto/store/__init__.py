"""The control plane: suites, runs, decisions, states and evidence in a relational database.

::

    open_store(url) ──► Store ──► suites, runs, decisions, states, people     what happened
                                  chain                                       evidence, one chain per asset
                                  verify                                      nothing was altered unnoticed
                                  database, migrate, tables                   SQLite or PostgreSQL

The truth about rows is in the lake; the truth about verdicts is here. Nothing in this room needs Spark.
"""

from __future__ import annotations

from lazaretto.store.errors import (
    RecordConflict,
    RecordMissing,
    StoreError,
    StoreTooNew,
    StoreUnreachable,
    SuiteChanged,
)
from lazaretto.store.records import (
    ApprovalRecord,
    AssetStanding,
    AuditEvent,
    ChainHead,
    DecisionSummary,
    EvidenceKind,
    EvidenceRecord,
    Finding,
    Flaw,
    PhaseRecord,
    RunRecord,
    RunState,
)
from lazaretto.store.restore import Restored
from lazaretto.store.runs import Run
from lazaretto.store.store import Store, open_store

__all__ = [
    "ApprovalRecord",
    "AssetStanding",
    "AuditEvent",
    "ChainHead",
    "DecisionSummary",
    "EvidenceKind",
    "EvidenceRecord",
    "Finding",
    "Flaw",
    "PhaseRecord",
    "RecordConflict",
    "RecordMissing",
    "Restored",
    "Run",
    "RunRecord",
    "RunState",
    "Store",
    "StoreError",
    "StoreTooNew",
    "StoreUnreachable",
    "SuiteChanged",
    "open_store",
]
