"""Publishing: the one commit in the target's log that makes a batch count.

Both publishers here commit through Delta's own transaction, with the same identifiers and metadata; they differ only in
where the accepted rows are. Zero-copy adds the staged files themselves; copying reads them and lets Delta write.
Where Delta's transactions are out of reach, a third one stands behind the same interface (`connect_publisher`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lazaretto.model.errors import LazarettoError
from lazaretto.model.seal import ACCEPTED, ROUTE, Seal
from lazaretto.model.words import GateAction, WriteMode
from lazaretto.spark.commits import commits
from lazaretto.spark.delta_log import IDENTITY, DeltaLogs, TableFacts
from lazaretto.spark.files import Files
from lazaretto.spark.logs import Logs
from lazaretto.spark.staged import accepted_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCK_APP = "lazaretto:lock"
"""Odd: the asset takes no further batch until someone approves (FAIL_CLOSED). It survives log clean-up."""


class TargetChanged(LazarettoError):
    """The target is not the table the batch was staged for."""


class Overtaken(LazarettoError):
    """Somebody else took the source further from where the batch begins: publishing it could double rows."""


@dataclass(frozen=True)
class Published:
    """Where the batch is in the target's history."""

    version: int
    again: bool
    """The commit was already there."""
    metadata: dict[str, Any]
    """What that commit says of the batch."""


class Publisher(Protocol):
    """One way to make accepted rows visible."""

    def refusal(self, facts: TableFacts) -> str | None:
        """Why this table cannot be published to this way, or None."""

    def publish(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, lock: bool) -> Published:
        """Commit the batch, with its rows or (held) without, unless it is committed already."""

    def committed(self, seal: Seal) -> Published | None:
        """The batch's commit, if there is one."""

    def resolve(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, unlock: bool) -> Published:
        """Commit the end of a held batch, with its rows (released) or without, unless it has ended already."""

    def resolved(self, seal: Seal) -> Published | None:
        """The commit that ended a held batch, if there is one."""

    def follow_up(self, seal: Seal, published: Published) -> None:
        """Whatever else the log has to know of a committed batch (`marks_of`), unless it knows. Safe to repeat."""

    def see_that_it_is_due(self, seal: Seal) -> None:
        """Overtaken if the stretch of the source was taken by somebody else."""

    def see_that_it_fits(self, seal: Seal) -> None:
        """TargetChanged if the table is no longer the one that the batch was staged for."""


def batch_app(batch_id: str) -> str:
    """Application id under which the target's log remembers a batch."""
    return f"lazaretto:batch:{batch_id}"


def held_app(batch_id: str) -> str:
    """Application id under which the target's log remembers how a held batch ended: the first of all ends wins."""
    return f"lazaretto:held:{batch_id}"


def marks_of(seal: Seal) -> dict[str, int]:
    """What a committed batch says of its source, by application id: how far it was taken, and that it was."""
    marks: dict[str, int] = {}
    if seal.source.progress_app and seal.source.version is not None:
        marks[seal.source.progress_app] = seal.source.version
    if seal.source.suite_app and (seal.source.progress_app or seal.source.stream):
        marks[seal.source.suite_app] = 1
    return marks


def owed(files: Files, noted: Callable[[str], int], seal: Seal, published: Published) -> dict[str, int]:
    """What the log does not know yet of a batch whose commit could not say everything (`connect_publisher`)."""
    marks = {app: version for app, version in marks_of(seal).items() if noted(app) < version}
    if published.metadata.get("action") == GateAction.FAIL_CLOSED.value and published.version >= 0:
        since = commits(files, seal.target.path, published.version)
        if not any(LOCK_APP in each.transactions for each in since):
            marks[LOCK_APP] = _locked_once_more(noted(LOCK_APP))
    return marks


def _locked_once_more(noted: int) -> int:
    held = max(0, noted)
    return held + 1 if held % 2 == 0 else held + 2


def see_that_it_is_the_table(seal: Seal, facts: TableFacts) -> None:
    """TargetChanged if the table is no longer the one that the batch was staged for."""
    if facts.id != seal.target.table_id:
        raise TargetChanged(
            f"{seal.target.asset} was dropped and made anew after batch {seal.batch_id[:12]} was staged for it; "
            "discard the staged batch and run again"
        )
    if facts.schema_text != seal.target.table_schema:
        raise TargetChanged(
            f"the columns of {seal.target.asset} changed after batch {seal.batch_id[:12]} was staged for it; "
            "discard the staged batch and run again"
        )


def lock_version(logs: Logs, path: str) -> int:
    """How often the asset was locked and unlocked, together."""
    return max(0, logs.transaction_version(path, LOCK_APP))


def is_locked(logs: Logs, path: str) -> bool:
    """Whether the asset waits for an approval."""
    return lock_version(logs, path) % 2 == 1


def unlock(logs: DeltaLogs, path: str, metadata: dict[str, Any]) -> int | None:
    """Take the lock off by a commit of its own; its version, or None if there was none."""
    transaction = logs.begin(path)
    held = max(0, logs.noted(path, transaction, LOCK_APP))
    if held % 2 == 0:
        return None
    return logs.commit(transaction, [logs.set_transaction(LOCK_APP, held + 1)], "Append", json.dumps(metadata))


class ZeroCopyPublisher:
    """The staged files become part of the table; no row is moved."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._logs = DeltaLogs(spark)

    def refusal(self, facts: TableFacts) -> str | None:
        """Why this table cannot take files as they are, or None."""
        if facts.mapping_mode == "id":
            return "its columns are mapped by id"
        if any(IDENTITY in field.get("metadata", {}) for field in facts.schema["fields"]):
            return "it has an identity column"
        if managed := [f for f in facts.features if f.startswith(("catalogOwned", "catalogManaged"))]:
            return f"its commits belong to a catalog ({managed[0]})"
        return None

    def committed(self, seal: Seal) -> Published | None:
        """The batch's commit, if there is one."""
        if self._logs.transaction_version(seal.target.path, batch_app(seal.batch_id)) < 0:
            return None
        return self._found(seal)

    def publish(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, lock: bool) -> Published:
        """Commit the batch, unless it is committed already."""
        path = seal.target.path
        transaction = self._logs.begin(path)
        # Asking declares the read: a rival that commits the same batch first makes our commit fail.
        if self._logs.noted(path, transaction, batch_app(seal.batch_id)) >= 0:
            return self._found(seal)
        see_that_it_is_the_table(seal, self._logs.facts_in(path, transaction))
        actions: list[Any] = self._marks(transaction, seal)
        if with_rows:
            actions += self._removals(transaction, seal)
            actions += self._additions(transaction, seal)
        actions.append(self._logs.set_transaction(batch_app(seal.batch_id), 1))
        actions += [self._logs.set_transaction(app, version) for app, version in marks_of(seal).items()]
        if lock:
            known = self._logs.noted(path, transaction, LOCK_APP)
            actions.append(self._logs.set_transaction(LOCK_APP, _locked_once_more(known)))
        return self._commit(transaction, actions, seal, metadata, with_rows, self.committed)

    def follow_up(self, seal: Seal, published: Published) -> None:
        """All is in the one commit, unless that was made over Spark Connect and cut short after it."""
        if not published.again:
            return
        path = seal.target.path
        transaction = self._logs.begin(path)
        marks = owed(Files(self._spark), lambda app: self._logs.noted(path, transaction, app), seal, published)
        if marks:
            actions = [self._logs.set_transaction(app, version) for app, version in marks.items()]
            self._logs.commit(transaction, actions, "Append", json.dumps({"lazaretto": 1, "marks": seal.batch_id}))

    def resolved(self, seal: Seal) -> Published | None:
        """The commit that ended a held batch, if there is one."""
        if self._logs.transaction_version(seal.target.path, held_app(seal.batch_id)) < 0:
            return None
        return self._found(seal, ended=True)

    def resolve(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, unlock: bool) -> Published:
        """Commit the end of a held batch. How far the source was taken was said when it was held."""
        path = seal.target.path
        transaction = self._logs.begin(path)
        if self._logs.noted(path, transaction, held_app(seal.batch_id)) >= 0:
            return self._found(seal, ended=True)
        actions: list[Any] = []
        if with_rows:
            see_that_it_is_the_table(seal, self._logs.facts_in(path, transaction))
            actions += self._removals(transaction, seal)
            actions += self._additions(transaction, seal)
        actions.append(self._logs.set_transaction(held_app(seal.batch_id), 1))
        if unlock:
            held = max(0, self._logs.noted(path, transaction, LOCK_APP))
            actions.append(self._logs.set_transaction(LOCK_APP, held + held % 2))
        return self._commit(transaction, actions, seal, metadata, with_rows, self.resolved)

    def see_that_it_is_due(self, seal: Seal) -> None:
        """Overtaken if the stretch of the source was taken by somebody else."""
        self._marks(self._logs.begin(seal.target.path), seal)

    def see_that_it_fits(self, seal: Seal) -> None:
        """TargetChanged if the table is no longer the one that the batch was staged for."""
        see_that_it_is_the_table(seal, self._logs.facts(seal.target.path))

    def _commit(
        self,
        transaction: Any,
        actions: list[Any],
        seal: Seal,
        metadata: dict[str, Any],
        with_rows: bool,
        ask_again: Callable[[Seal], Published | None],
    ) -> Published:
        mode = "Append" if seal.write is WriteMode.APPEND or not with_rows else "Overwrite"
        try:
            version = self._logs.commit(transaction, actions, mode, json.dumps(metadata, ensure_ascii=False))
        except Exception:
            # An exception from commit does not mean "not committed": ask the log.
            if (found := ask_again(seal)) is not None:
                return found
            raise
        return Published(version, False, metadata)

    def _marks(self, transaction: Any, seal: Seal) -> list[Any]:
        """How far a stream has come, and the fence: asking declares the read, so of two that begin at the same place
        one fails, whatever locks there are."""
        actions: list[Any] = []
        for mark in seal.source.stream.marks if seal.source.stream else ():
            if (known := self._logs.noted(seal.target.path, transaction, mark.app)) > mark.since:
                raise Overtaken(
                    f"another instance took {seal.source.name} further while batch {seal.batch_id[:12]} was under way "
                    "(two streams, or a run beside a stream); nothing of the batch is published"
                )
            if mark.until > known:
                actions.append(self._logs.set_transaction(mark.app, mark.until))
        return actions

    def _additions(self, transaction: Any, seal: Seal) -> list[Any]:
        return [{"add": _for_the_target(file, seal)} for file in seal.files_of(ACCEPTED)]

    def _removals(self, transaction: Any, seal: Seal) -> list[Any]:
        """What the batch takes the place of."""
        if seal.write is WriteMode.APPEND:
            return []
        files = transaction.filterFiles()  # declares the read of the whole table, as a replacement must
        replaced = [dict(partition) for partition in seal.replaces]
        removals = []
        for number in range(files.size()):
            file = files.apply(number)
            if seal.write is WriteMode.REPLACE_PARTITIONS:
                values = json.loads(file.json())["add"]["partitionValues"]
                if not any(all(values.get(k) == v for k, v in part.items()) for part in replaced):
                    continue
            removals.append(file.remove())
        return removals

    def _found(self, seal: Seal, *, ended: bool = False) -> Published:
        from pyspark.sql import functions as F

        history = self._spark.sql(f"DESCRIBE HISTORY delta.`{seal.target.path}`")
        mine = (F.get_json_object("userMetadata", "$.batch_id") == seal.batch_id) & (
            F.get_json_object("userMetadata", "$.resolution").isNotNull() == F.lit(ended)
        )
        rows = history.where(mine).orderBy("version").select("version", "userMetadata").limit(1).collect()
        if not rows:
            return Published(-1, True, {})  # the log has been cleaned since; the evidence has it
        return Published(int(rows[0]["version"]), True, json.loads(rows[0]["userMetadata"]))


class CopyPublisher(ZeroCopyPublisher):
    """Delta writes the accepted rows itself, from the staged files: for tables that cannot take files as they are."""

    def refusal(self, facts: TableFacts) -> str | None:
        """Every table that Delta can write to will do."""
        return None

    def _additions(self, transaction: Any, seal: Seal) -> list[Any]:
        if not seal.files_of(ACCEPTED):
            return []
        return self._logs.written(transaction, accepted_rows(self._spark, seal))


def _for_the_target(file: dict[str, Any], seal: Seal) -> dict[str, Any]:
    """A staged file as a file of the target: found from there, without the route and our own columns."""
    added = dict(file)
    added["path"] = f"{seal.folder}/{file['path']}"
    added["partitionValues"] = {k: v for k, v in file["partitionValues"].items() if k != ROUTE}
    added["dataChange"] = True
    if statistics := file.get("stats"):
        parsed = json.loads(statistics)
        for kind in ("minValues", "maxValues", "nullCount"):
            if kind in parsed:
                parsed[kind] = {k: v for k, v in parsed[kind].items() if not k.startswith("lz_")}
        added["stats"] = json.dumps(parsed)
    return added
