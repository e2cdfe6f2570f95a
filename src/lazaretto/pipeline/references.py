"""Reference tables, each pinned to one version for the whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.config.secrets import revealed
from lazaretto.model.lookup import Reference
from lazaretto.pipeline.places import Places
from lazaretto.spark.logs import logs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PinnedReferences:
    """Reads references and remembers the version each was read at."""

    def __init__(self, spark: SparkSession, places: Places) -> None:
        self._spark = spark
        self._places = places
        self.versions: dict[str, str] = {}

    def read(self, reference: Reference) -> DataFrame:
        """The reference as of now, and for the rest of the batch."""
        if reference.table is None and reference.format != "delta":
            options = revealed(reference.options)
            return self._spark.read.format(reference.format).options(**options).load(str(reference.path))
        path = reference.path or self._places.located(self._spark, str(reference.table))
        logs = logs_of(self._spark)
        if not logs.exists(path):
            return self._spark.read.format("delta").load(path)  # Spark's own words for what is missing
        pinned = self.versions.setdefault(str(reference), str(logs.facts(path).version))
        return self._spark.read.format("delta").option("versionAsOf", pinned).load(path)
