"""The words of the domain, spelled one way everywhere: in YAML, in tables, in messages and in code.

Users may write any of them in upper or lower case; what is stored and printed is the value given here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A closed vocabulary that is read without regard to case."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if isinstance(value, str):
            wanted = value.strip().replace("-", "_").casefold()
            for member in cls:
                if member.value.casefold() == wanted:
                    return member
        return None


class CheckStatus(Word):
    """What came of a check. FAIL: the data is wrong. ERROR: the check itself broke. Never the same."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"
    SKIPPED = "SKIPPED"


class Severity(Word):
    """How bad the problem is. What to do about it is `OnFail` and the policy's business."""

    INFO = "INFO"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"

    @property
    def rank(self) -> int:
        """0 for INFO up to 4 for CRITICAL."""
        return list(Severity).index(self)


class Dimension(Word):
    """Which side of quality a rule looks at."""

    STRUCTURE = "STRUCTURE"
    COMPLETENESS = "COMPLETENESS"
    VALIDITY = "VALIDITY"
    UNIQUENESS = "UNIQUENESS"
    CONSISTENCY = "CONSISTENCY"
    REFERENTIAL_INTEGRITY = "REFERENTIAL_INTEGRITY"
    FRESHNESS = "FRESHNESS"
    DISTRIBUTION = "DISTRIBUTION"
    RECONCILIATION = "RECONCILIATION"
    PRIVACY = "PRIVACY"
    SECURITY = "SECURITY"


class OnFail(Word):
    """What a rule asks for when data breaks it, from mild to severe."""

    OBSERVE = "observe"
    WARN = "warn"
    DEGRADE_CONSUMER = "degrade_consumer"
    QUARANTINE_RECORDS = "quarantine_records"
    QUARANTINE_BATCH = "quarantine_batch"
    BLOCK_PUBLICATION = "block_publication"
    FAIL_CLOSED = "fail_closed"

    @property
    def keeps_row_out(self) -> bool:
        """Whether a row that breaks the rule is kept out of the clean rows."""
        return self not in (OnFail.OBSERVE, OnFail.WARN, OnFail.DEGRADE_CONSUMER)


class OnError(Word):
    """What a rule asks for when it could not be evaluated."""

    WARN = "warn"
    QUARANTINE_RECORDS = "quarantine_records"
    BLOCK_PUBLICATION = "block_publication"
    FAIL_CLOSED = "fail_closed"


class OnNull(Word):
    """What an undecided comparison (SQL's NULL) counts as."""

    PASS = "pass"
    FAIL = "fail"


class Tier(Word):
    """How much is at stake with an asset; an input of the policy."""

    EXPLORATORY = "exploratory"
    STANDARD = "standard"
    REGULATORY = "regulatory"


class Consumers(Word):
    """How much depends on those who read an asset; an input of the policy."""

    NORMAL = "normal"
    IMPORTANT = "important"
    CRITICAL = "critical"


class Mode(Word):
    """Where bad rows go: out of the target, or into it with their faults attached."""

    QUARANTINE = "quarantine"
    ANNOTATE = "annotate"


class WriteMode(Word):
    """What a run does to the rows that are already in the target."""

    APPEND = "append"
    REPLACE = "replace"
    REPLACE_PARTITIONS = "replace_partitions"


class OnNewColumn(Word):
    """What to do with a source column the target does not know."""

    ADD = "add"
    IGNORE = "ignore"
    FAIL = "fail"


class RecordStatus(Word):
    """Where a quarantined record stands on its way out."""

    QUARANTINED = "QUARANTINED"
    UNDER_REVIEW = "UNDER_REVIEW"
    CORRECTED = "CORRECTED"
    RESUBMITTED = "RESUBMITTED"
    RECOVERED = "RECOVERED"
    REJECTED = "REJECTED"
    ARCHIVED = "ARCHIVED"


class Takes(Word):
    """How a check uses `column` and `columns`."""

    ONE = "one"  # one instance per column
    MANY = "many"  # all columns together make one instance
    OPTIONAL = "optional"  # named only to say which column is to blame
    NONE = "none"


class GateAction(Word):
    """What the gate decided for a batch."""

    PASS = "PASS"
    SUPERSEDE = "SUPERSEDE"
    WARN = "WARN"
    DEGRADE_CONSUMER = "DEGRADE_CONSUMER"
    QUARANTINE_RECORDS = "QUARANTINE_RECORDS"
    QUARANTINE_BATCH = "QUARANTINE_BATCH"
    BLOCK_PUBLICATION = "BLOCK_PUBLICATION"
    FAIL_CLOSED = "FAIL_CLOSED"

    @property
    def rank(self) -> int:
        """0 for PASS up to 7 for FAIL_CLOSED: the members stand from mild to severe."""
        return list(GateAction).index(self)


class Publication(Word):
    """What became of the output."""

    PUBLISHED_CERTIFIED = "PUBLISHED_CERTIFIED"
    PUBLISHED_PARTIAL = "PUBLISHED_PARTIAL"
    PUBLISHED_DEGRADED = "PUBLISHED_DEGRADED"
    NOT_PUBLISHED = "NOT_PUBLISHED"


class AssetState(Word):
    """How far an asset can be trusted."""

    CERTIFIED = "certified"
    PARTIAL = "partial"
    DEGRADED = "degraded"
    UNCERTIFIED = "uncertified"
    SUPERSEDED = "superseded"
    LOCKED = "locked"


class Place(Word):
    """Which lane a quarantined record is in."""

    INBOX = "inbox"
    DEAD_LETTER = "dead_letter"


class GateReason(Word):
    """Why the gate decided as it did: stable codes, the weightiest first. Tables and alerts group by them."""

    PRIVACY_FAILED = "PRIVACY_FAILED"
    PRIVACY_ERROR = "PRIVACY_ERROR"
    SECURITY_FAILED = "SECURITY_FAILED"
    SECURITY_ERROR = "SECURITY_ERROR"
    POLICY_SILENT = "POLICY_SILENT"  # no row of the policy fits
    SCHEMA_INCOMPATIBLE = "SCHEMA_INCOMPATIBLE"
    CRITICAL_FAILED = "CRITICAL_FAILED"
    CHECK_MISSING = "CHECK_MISSING"
    CHECK_SKIPPED = "CHECK_SKIPPED"
    CHECK_ERROR = "CHECK_ERROR"
    REFERENCE_MISSING = "REFERENCE_MISSING"
    KEY_NULL = "KEY_NULL"
    KEY_NOT_UNIQUE = "KEY_NOT_UNIQUE"
    REJECT_RATE = "REJECT_RATE"
    THRESHOLD_EXCEEDED = "THRESHOLD_EXCEEDED"
    RECORDS_DEPENDENT = "RECORDS_DEPENDENT"
    PARTIAL_NOT_ALLOWED = "PARTIAL_NOT_ALLOWED"
    AGGREGATES_FED = "AGGREGATES_FED"
    RELEASED = "RELEASED"  # a person's approval lets the batch go
    EXCEPTION_GRANTED = "EXCEPTION_GRANTED"  # an exception on record stands for a privacy or security rule
    CHECK_FAILED = "CHECK_FAILED"
    RECORDS_QUARANTINED = "RECORDS_QUARANTINED"
    FAILURES_OBSERVED = "FAILURES_OBSERVED"
    SUPERSEDES_PUBLISHED = "SUPERSEDES_PUBLISHED"
    ALL_CHECKS_PASSED = "ALL_CHECKS_PASSED"
