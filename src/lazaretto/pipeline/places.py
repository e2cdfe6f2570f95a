"""Where things are: tables under the lake, our own tables, held batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.config.project import Project
from lazaretto.model.suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Places:
    """The paths of one project."""

    lake: str
    schema: str = "quarantine"
    catalog: bool = False

    @classmethod
    def of(cls, project: Project) -> Places:
        """The places of a project."""
        return cls(project.lake_root, project.tables.schema_, bool(project.catalog))

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
    def held(self) -> str:
        """Folder of the batches that may not be published."""
        return f"{self.lake}/{self.schema}/held"
