"""Whether this machine and the server of a Spark Connect session see the same files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from lazaretto.spark.files import Files, is_local
from lazaretto.spark.reach import OutOfReach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def see_that_it_is_here(path: str) -> None:
    """OutOfReach for a path that only Spark could get at."""
    if not is_local(path):
        raise OutOfReach(
            f"{path} is not on this machine's file system: over Spark Connect a lake has to be mounted here and on the "
            "server, under the same path; for an object store use a classic session"
        )


def see_that_it_is_shared(spark: SparkSession, folder: str) -> None:
    """OutOfReach unless this machine and the session's server see the same files in a folder.

    A batch is staged by the server and sealed from here. So a file is put there, and the server reads it back.
    """
    from pyspark.errors import PySparkException

    files, word = Files(), uuid.uuid4().hex
    place = f"{folder}/lz-shared-{word}.txt"  # no dot in front: Spark does not read hidden files
    files.put_if_absent(place, word)
    try:
        found = [row[0] for row in spark.read.text(place).collect()]
    except PySparkException as error:
        raise OutOfReach(_NOT_SHARED.format(folder=folder)) from error
    finally:
        files.delete(place)
    if found != [word]:
        raise OutOfReach(_NOT_SHARED.format(folder=folder))


_NOT_SHARED = (
    "the Spark Connect server does not see what this machine writes into {folder}: mount it on both under the same "
    "path, or run where the server runs"
)
