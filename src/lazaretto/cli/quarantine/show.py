"""`lazaretto quarantine show`: one record, with everything that is known of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.desk import RevealOption, age, desk

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_FACTS = (
    "record_id", "asset", "source_table", "source_position", "source_system", "entity", "record_key", "event_id",
    "status", "severity", "attempt", "run_id", "suite", "suite_version", "claimed_by", "claimed_until",
    "recovered_version", "reject_reason_code", "archived_at", "archived_status", "payload_policy", "rescued_data",
)  # fmt: skip


def show(
    record: Annotated[str, typer.Argument(help="Id of the record, or its beginning.")],
    reveal: RevealOption = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Show one record: the row, what was expected of it and found, its correction, and what happened to it."""
    with desk("show", project, env, reveal=reveal) as here:
        found = here.record(record)
    found["age_seconds"] = round((datetime.now(UTC) - found["quarantined_at"]).total_seconds())
    if output is Output.json:
        print_json(found)
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in _parts(found):
        console.print(part)


def _parts(found: dict[str, Any]) -> list[RenderableType]:
    from rich.panel import Panel

    place = "dead letter" if found["place"] == "dead_letter" else "quarantine"
    facts = _facts(found)
    title = f"{place} · {found['asset']} · {found['status']} · {age(found['age_seconds'])} old"
    parts: list[RenderableType] = [Panel(facts, title=_text(title), title_align="left")]
    if found["failures"]:
        parts.append(Panel(_failures(found["failures"]), title="what is wrong", title_align="left"))
    if found["error"]:
        told = "\n".join(f"{name}: {value}" for name, value in found["error"].items() if value)
        parts.append(Panel(_text(told), title="error", title_align="left"))
    parts.append(Panel(_row(found), title="the row", title_align="left"))
    happened = _history(found)
    parts.append(Panel(happened, title="what happened", title_align="left"))
    return parts


def _facts(found: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for name in _FACTS:
        if found.get(name) is not None:
            table.add_row(_text(name.replace("_", " "), "dim"), _text(found[name]))
    return table


def _failures(failures: list[dict[str, Any]]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("rule", "field", "expected", "found", "severity", ""):
        table.add_column(heading, overflow="fold")
    for f in failures:
        kind = "warning" if f["warning"] else "could not be judged" if f["status"] == "ERROR" else ""
        actual = "NULL" if f["actual_value"] is None else f["actual_value"]
        table.add_row(
            _text(f["rule_id"]),
            _text(f["column_name"] or ", ".join(f["columns"] or ())),
            _text(f["expected_value"] or f["expression"] or "", "green"),
            _text(actual, "bold red"),
            _text(f["severity"] or ""),
            _text(kind, "dim"),
        )
    return table


def _row(found: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    payload, correction = found["payload"], found["correction"]
    if payload is None:
        kept = {"reference": "not kept: its source position and hash are", "erased": "erased; its keyed hash is kept"}
        return _text(kept.get(found["payload_policy"], "not kept"), "dim")
    if not isinstance(payload, dict):
        return _text(payload)
    if set(payload) == {"lz_encrypted"}:
        return _text("encrypted", "dim")
    blamed = {
        column.partition(".")[0].casefold() for f in found["failures"] or () for column in f["columns"] or () if column
    }
    changed = correction if isinstance(correction, dict) else {}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("field", "value", *(["corrected to"] if changed else [])):
        table.add_column(heading, overflow="fold")
    for name in [*payload, *(n for n in changed if n not in payload)]:
        wrong = name.casefold() in blamed
        cells = [
            _text(("▶ " if wrong else "  ") + name, "bold red" if wrong else ""),
            _text(_value(payload.get(name)), "red" if wrong else ""),
        ]
        if changed:
            cells.append(_text(_value(changed[name]), "green") if name in changed else _text(""))
        table.add_row(*cells)
    return table


def _history(found: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    told: list[tuple[datetime, str]] = [(found["quarantined_at"], f"quarantined by run {found['run_id']}")]
    told += [(entry["at"], _step(entry)) for entry in found.get("history") or ()]
    if not found.get("history") and found["updated_at"]:
        told.append((found["updated_at"], f"changed by {found['updated_by'] or 'somebody'}"))
    for event in found["events"]:
        reason = f": {event['reason']}" if event.get("reason") else ""
        told.append((event["at"], f"{event['action']} by {event['actor']} ({event['assurance']}){reason}"))
    if found["archived_at"]:
        told.append((found["archived_at"], "archived"))
    for at, what in sorted(told, key=lambda pair: pair[0]):
        table.add_row(_text(f"{at:%Y-%m-%d %H:%M} UTC", "dim"), _text(what))
    return table


def _step(entry: dict[str, Any]) -> str:
    told = f"{entry['step']}: {entry['came_from']} → {entry['went_to']}"
    told += f" by {entry['by']}" if entry.get("by") else ""
    told += f" ({entry['assurance']})" if entry.get("assurance") else ""
    told += f", attempt {entry['attempt']}" if entry.get("attempt") else ""
    told += f", published in version {entry['version']}" if entry.get("version") is not None else ""
    return told + (f": {entry['why']}" if entry.get("why") else "")


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _text(value: Any, style: str = "") -> Text:
    from rich.text import Text as RichText

    return RichText(str(value), style=style)
