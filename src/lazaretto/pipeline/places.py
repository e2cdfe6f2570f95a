"""Where things are: tables under the lake, our own tables, held batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.config.project import Project
from lazaretto.model.fingerprint import sha256
from lazaretto.model.suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Places:
    """The paths of one project."""

    lake: str
    schema: str = "quarantine"
    catalog: bool = False
    archive_root: str | None = None
    """Where the archive is, if not beside the other tables."""

    @classmethod
    def of(cls, project: Project) -> Places:
        """The places of a project."""
        return cls(project.lake_root, project.tables.schema_, bool(project.catalog), project.archive_root)

    def table(self, name: str) -> str:
        """Folder of `schema.table` under the lake."""
        return f"{self.lake}/{name.replace('.', '/')}"

    def located(self, spark: SparkSession, name: str) -> str:
        """Folder of a table, asked from Spark's catalog where the project uses one."""
        if not self.catalog:
            return self.table(name)
        quoted = ".".join(f"`{part}`" for part in name.split("."))
        location = spark.sql(f"DESCRIBE DETAIL {quoted}").select("location").first()
        assert location is not None
        return str(location[0]).removeprefix("file:")

    def asset(self, spark: SparkSession, suite: Suite) -> str:
        """Folder of the table a suite guards."""
        if suite.path:
            return suite.path
        return self.located(spark, suite.asset)

    @property
    def records(self) -> str:
        """The universal quarantine table."""
        return f"{self.lake}/{self.schema}/records"

    @property
    def outbox(self) -> str:
        """The ledger of corrected records."""
        return f"{self.lake}/{self.schema}/outbox"

    @property
    def archive(self) -> str:
        """The table of records that were put away."""
        return self.archive_root or f"{self.lake}/{self.schema}/archive"

    @property
    def attempts(self) -> str:
        """Where corrections put aside what came of them, until it is on record."""
        return f"{self.lake}/{self.schema}/attempts"

    @property
    def begun(self) -> str:
        """Notes of what was begun with records and is not on record yet."""
        return f"{self.lake}/{self.schema}/begun"

    @property
    def chores(self) -> str:
        """Folder of what was begun on our own tables and is not finished: moves to the archive and back, erasures."""
        return f"{self.lake}/{self.schema}/chores"

    @property
    def erasure_keys(self) -> str:
        """Folder of the keys of erasures, until they are destroyed."""
        return f"{self.lake}/{self.schema}/erasure-keys"

    @property
    def holds(self) -> str:
        """Folder of legal holds."""
        return f"{self.lake}/{self.schema}/holds"

    def evidence(self, environment: str, asset: str) -> str:
        """Folder with the copy of an asset's evidence chain."""
        return f"{self.evidence_root}/{sha256([environment, asset])[:32]}"

    @property
    def evidence_root(self) -> str:
        """Folder with the copies of all chains."""
        return f"{self.lake}/{self.schema}/evidence"

    @property
    def runs(self) -> str:
        """Folder of what runs decided and did: `decision.json` and `manifest.json` of each."""
        return f"{self.lake}/{self.schema}/runs"

    @property
    def held(self) -> str:
        """Folder of the batches that may not be published."""
        return f"{self.lake}/{self.schema}/held"
