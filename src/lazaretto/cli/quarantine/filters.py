"""The filters that the commands on records share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import moment
from lazaretto.model.words import Place, RecordStatus, Severity

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted

Texts = list[str] | None

_FILTERS: dict[str, Any] = {
    "dataset": Annotated[Texts, typer.Option("--dataset", help="Asset the rows were meant for; repeatable.")],
    "system": Annotated[Texts, typer.Option("--system", help="Source system; repeatable.")],
    "entity": Annotated[Texts, typer.Option("--entity", help="Entity; repeatable.")],
    "rule": Annotated[Texts, typer.Option("--rule", help="Id of a rule the record broke; repeatable.")],
    "severity": Annotated[
        list[Severity] | None, typer.Option("--severity", case_sensitive=False, help="Severity; repeatable.")
    ],
    "status": Annotated[
        list[RecordStatus] | None, typer.Option("--status", case_sensitive=False, help="Status; repeatable.")
    ],
    "place": Annotated[Place | None, typer.Option("--place", case_sensitive=False, help="inbox or dead_letter.")],
    "key": Annotated[Texts, typer.Option("--key", help="Key of the row, as the suite declares it; repeatable.")],
    "run": Annotated[Texts, typer.Option("--run", help="Id of the run that rejected it; repeatable.")],
    "since": Annotated[str | None, typer.Option("--since", help="First day, or moment (UTC).")],
    "until": Annotated[str | None, typer.Option("--until", help="Day, or moment (UTC), before which it was rejected.")],
    "older_than": Annotated[str | None, typer.Option("--older-than", help="Age: 7d, 12h.")],
    "younger_than": Annotated[str | None, typer.Option("--younger-than", help="Age: 7d, 12h.")],
    "field": Annotated[Texts, typer.Option("--field", help="NAME=TEXT: the field contains the text; repeatable.")],
    "where": Annotated[str | None, typer.Option("--where", help="SQL condition; with one --dataset also on row.NAME.")],
}


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with a parameter `wanted` the options of all filters in its place."""
    signature = inspect.signature(command, eval_str=True, locals={"Wanted": object})  # imported late
    given = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _FILTERS.items()
    ]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in signature.parameters.items() if n != "wanted"]

    @functools.wraps(command)
    def whole(**options: Any) -> None:
        command(wanted=_wanted(**{name: options.pop(name) for name in _FILTERS}), **options)

    parameters = [*(p for p in own if p.default is p.empty), *given, *(p for p in own if p.default is not p.empty)]
    whole.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    whole.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return whole


def _wanted(**given: Any) -> Wanted:
    from lazaretto.quarantine.wanted import Wanted

    now = datetime.now(UTC)
    since = [moment(given["since"], "--since")] if given["since"] else []
    until = [moment(given["until"], "--until")] if given["until"] else []
    if given["younger_than"]:
        since.append(now - _age(given["younger_than"], "--younger-than"))
    if given["older_than"]:
        until.append(now - _age(given["older_than"], "--older-than"))
    texts = []
    for text in given["field"] or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text!r}: expected NAME=TEXT", param_hint="--field")
        texts.append((name, value))
    return Wanted(
        datasets=tuple(given["dataset"] or ()),
        systems=tuple(given["system"] or ()),
        entities=tuple(given["entity"] or ()),
        rules=tuple(given["rule"] or ()),
        severities=tuple(given["severity"] or ()),
        statuses=tuple(given["status"] or ()),
        places=(given["place"],) if given["place"] else (),
        keys=tuple(given["key"] or ()),
        runs=tuple(given["run"] or ()),
        since=max(since) if since else None,
        until=min(until) if until else None,
        texts=tuple(texts),
        where=given["where"],
    )


def _age(text: str, option: str) -> Any:
    from lazaretto.model.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
