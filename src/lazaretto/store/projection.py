"""Columns of decisions and approvals, drawn from their payload: the same functions write and prove them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lazaretto.store.ledger import split_asset
from lazaretto.store.payload import decode
from lazaretto.store.types import in_utc


def gate_columns(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of `quality_gate_result` that follow from the decision itself."""
    decision = decode({name: value for name, value in payload.items() if name not in ("results", "context")})
    namespace, name = split_asset(decision["scope"]["asset"])
    return {
        "gate_result_id": decision["decision_id"],
        "run_id": decision["scope"]["run_id"],
        "batch_id": decision["scope"]["batch_id"],
        "asset_namespace": namespace,
        "asset_name": name,
        "suite_id": decision["suite"],
        "suite_version": decision["suite_version"],
        "rule_set_fingerprint": decision["rule_set_fingerprint"],
        "policy": decision["policy"],
        "decision": decision["action"],
        "publication": decision["publication"],
        "max_severity": decision["max_severity"],
        "reason_code": decision["reason_code"],
    }


def check_columns(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of `quality_check_result`."""
    return [
        {
            "gate_result_id": payload["decision_id"],
            "rule_id": result["rule_id"],
            "rule_version": result["rule_version"],
            "column_name": result["column"] or "",
            "rule_fingerprint": result["rule_fingerprint"],
            "tool": result["tool"],
            "tool_version": result["tool_version"],
            "check_name": result["check"],
            "dimension": result["dimension"],
            "severity": result["severity"],
            "status": result["status"],
            "checked_count": result["checked"],
            "failed_count": result["failed"],
            "errored_count": result["errored"],
            "observed_value": _number(result["observed_value"]),
            "threshold_value": _number(result["threshold"]),
            "reason_code": result["reason_code"],
        }
        for result in map(decode, payload["results"])
    ]


def approval_columns(attested: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of `approval` that follow from its evidence."""
    given = decode(attested["approval"])
    expires = given["expires_at"]
    return {
        "decision_id": attested["decision_id"],
        "requested_by": attested["requested_by"],
        "batch_id": given["batch_id"],
        "approver": given["approver"],
        "assurance": given["assurance"],
        "reason": given["reason"],
        "expires_at": None if expires is None else in_utc(datetime.fromisoformat(expires)),
        "payload": attested["approval"],
    }


def verdict(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two decisions one and the same: outcome and grounds, not the time or the run's label."""
    columns = gate_columns(payload)
    del columns["run_id"]
    return columns | {"results": sorted(check_columns(payload), key=repr)}


def _number(value: str | None) -> float | None:
    return None if value is None else float(value)
