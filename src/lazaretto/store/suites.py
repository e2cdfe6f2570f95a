"""Suites on record: a version, once used in an environment, means the same rules for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select

from lazaretto.model.suite import Suite
from lazaretto.store.canonical import digest
from lazaretto.store.errors import SuiteChanged
from lazaretto.store.ledger import Ledger, split_asset
from lazaretto.store.payload import encode
from lazaretto.store.tables import quality_suite
from lazaretto.store.types import spell


def register(ledger: Ledger, suite: Suite, fingerprint: str) -> None:
    """Put a suite version on record; the same again is no news, another one under its name is refused."""
    namespace, name = split_asset(suite.asset)
    key = {"environment": ledger.environment, "suite_id": suite.suite, "suite_version": suite.version}

    def work(connection: Connection) -> None:
        query = select(quality_suite.c.rule_set_fingerprint).filter_by(**key)
        known = connection.execute(query).scalar()
        if known is None:
            connection.execute(
                insert(quality_suite).values(
                    **key,
                    asset_namespace=namespace,
                    asset_name=name,
                    owner=suite.owner,
                    rule_set_fingerprint=fingerprint,
                    created_at=ledger.clock(),
                    payload=encode(suite.model_dump(mode="json")),
                )
            )
        elif known != fingerprint:
            raise SuiteChanged(
                f"The suite {suite.suite} {suite.version} is on record in {ledger.environment} with other "
                f"rules (fingerprint {known[:12]}, now {fingerprint[:12]}): bump the version."
            )

    ledger.database.write(work)


def attested(row: Mapping[Any, Any]) -> str:
    """The hash that a decision's evidence keeps of the suite it was made by, every column included."""
    return digest({**row, "created_at": spell(row["created_at"])})


def row_of(connection: Connection, environment: str, suite: str, version: str) -> RowMapping | None:
    """A suite version as it is on record."""
    query = select(quality_suite).filter_by(environment=environment, suite_id=suite, suite_version=version)
    return connection.execute(query).mappings().first()


def fingerprint_of(ledger: Ledger, suite: str, version: str) -> str | None:
    """The fingerprint a suite version is on record with."""
    query = select(quality_suite.c.rule_set_fingerprint).filter_by(
        environment=ledger.environment, suite_id=suite, suite_version=version
    )
    with ledger.database.read() as connection:
        return connection.execute(query).scalar()
