"""The tools that work on an asset is done with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.config.policies import load_policy
from lazaretto.config.project import Project
from lazaretto.engine.references import DEFAULT_BROADCAST_BELOW
from lazaretto.model.policy import BUILT_IN, Policy
from lazaretto.model.seal import Seal
from lazaretto.pipeline.places import Places
from lazaretto.spark.connect_publisher import ConnectPublisher
from lazaretto.spark.files import Files
from lazaretto.spark.logs import Logs, logs_of
from lazaretto.spark.publisher import CopyPublisher, Publisher, ZeroCopyPublisher
from lazaretto.spark.reach import jvm_in_reach
from lazaretto.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Bench:
    """The tools a batch is worked on with."""

    spark: SparkSession
    places: Places
    store: Store
    policy: Policy = BUILT_IN
    broadcast_below: int = DEFAULT_BROADCAST_BELOW
    """Reference tables up to this size are sent to every worker."""

    @classmethod
    def of(cls, spark: SparkSession, project: Project, store: Store) -> Bench:
        """The tools of a project, its policy among them."""
        policy = load_policy(None, project).policy
        return cls(spark, Places.of(project), store, policy, project.broadcast_below)

    @property
    def files(self) -> Files:
        """The lake's file system."""
        return Files(self.spark)

    @property
    def logs(self) -> Logs:
        """The way to Delta that the session has."""
        return logs_of(self.spark)

    def publisher(self, seal: Seal) -> Publisher:
        """The way of publishing the batch was staged for."""
        if not jvm_in_reach(self.spark):  # what is staged is the same, whoever publishes it
            return ConnectPublisher(self.spark)
        return CopyPublisher(self.spark) if seal.publisher == "copy" else ZeroCopyPublisher(self.spark)
