"""Which files a suite has taken already.

The list of a batch lies in the target's folder before the batch is committed, and counts only if the target's log
has the commit: the log decides, the list only spells out what the batch was.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lazaretto.model.fingerprint import sha256
from lazaretto.model.seal import Seal
from lazaretto.model.suite import Suite
from lazaretto.spark.files import Files
from lazaretto.spark.logs import logs_of
from lazaretto.spark.publisher import batch_app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "_lz_files"
"""Begins with an underscore: VACUUM leaves it alone."""


def _folder(target: str, suite: str) -> str:
    return f"{target}/{FOLDER}/{sha256(suite)[:32]}"


def note(spark: SparkSession, seal: Seal) -> None:
    """Write down the files of a batch, before it is committed."""
    if seal.source.kind in ("files", "landing"):
        text = json.dumps({"batch_id": seal.batch_id, "files": seal.source.files})
        Files(spark).put_if_absent(f"{_folder(seal.target.path, seal.suite)}/{seal.batch_id}.json", text)


def taken_before(
    spark: SparkSession, target: str, suite: Suite, lists: dict[str, tuple[str, ...]] | None = None
) -> set[str]:
    """The files of all committed batches. `lists` remembers what was read, for those who ask again and again."""
    files, logs = Files(spark), logs_of(spark)
    folder, known = _folder(target, suite.suite), {} if lists is None else lists
    names = files.list(folder)
    if not names or not logs.exists(target):
        return set()
    committed = logs.all_transactions(target)
    taken: set[str] = set()
    for name in names:
        if batch_app(name.removesuffix(".json")) in committed:
            if name not in known:
                known[name] = tuple(json.loads(files.read_text(f"{folder}/{name}") or '{"files": []}')["files"])
            taken.update(known[name])
    return taken
