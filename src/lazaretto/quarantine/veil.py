"""What of a record is shown to whom: sensitive columns are masked in the query, so their values never leave it.

An asset of which nobody said what is sensitive hides everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lazaretto.checks import sql
from lazaretto.model.words import Dimension
from lazaretto.quarantine.history import MEMBERS
from lazaretto.quarantine.payload import MASK, PayloadPolicy, failures_sql
from lazaretto.quarantine.shape import NAMES
from lazaretto.quarantine.wanted import Wanted

_ROW_OBJECTS = ("payload", "correction")
_TEXTS = ("rescued_data",)
_KEYS = ("record_key", "event_id")


@dataclass(frozen=True)
class Sensitive:
    """What an asset's suites call sensitive."""

    columns: tuple[str, ...] = ()
    key: bool = False
    """Whether the key or the event's id is made of such columns."""


@dataclass(frozen=True)
class Veil:
    """Which columns of which asset are hidden. Without one (`None`), everything is shown."""

    assets: Mapping[str, Sensitive]

    def allows(self, wanted: Wanted) -> bool:
        """Whether a filter asks for nothing that is hidden: by its answers it would tell the values."""
        known = [self.assets.get(asset) for asset in wanted.datasets]
        if not known or None in known:
            return False
        asked = {name.casefold() for name in wanted.fields}
        asked |= {name.partition(".")[0] for name in asked}
        for sensitive in filter(None, known):
            hidden = {column.casefold() for column in sensitive.columns}
            hidden |= {column.partition(".")[0] for column in hidden}
            if asked & hidden or (hidden and wanted.asks_for_anything) or (sensitive.key and wanted.keys):
                return False
        return True

    def columns(self, names: Iterable[str] = NAMES) -> str:
        """SQL of a record's columns, the sensitive parts masked."""
        return ", ".join(f"{self.column(name)} AS {name}" for name in names)

    def column(self, name: str) -> str:
        """SQL of one column."""
        if name in _ROW_OBJECTS:
            return self._by_asset(name, lambda s: _veiled(name, s.columns), _veiled(name, None))
        if name in _TEXTS:
            return self._by_asset(name, lambda s: _text(name) if s.columns else name, _text(name))
        if name in _KEYS:
            return self._by_asset(name, lambda s: _text(name) if s.key else name, _text(name))
        if name == "failures":
            return self._by_asset(name, lambda s: _failures(name, s.columns), _failures(name, None))
        if name == "history":
            return self._by_asset(name, lambda s: _history(s.columns), _history(None))
        return name

    def _by_asset(self, name: str, known: Callable[[Sensitive], str], otherwise: str) -> str:
        cases = [f"WHEN {sql.text(asset)} THEN {known(sensitive)}" for asset, sensitive in self.assets.items()]
        return f"CASE asset {' '.join(cases)} ELSE {otherwise} END" if cases else otherwise


def shown(names: Iterable[str], veil: Veil | None) -> str:
    """SQL of columns, through the veil if there is one."""
    return ", ".join(names) if veil is None else veil.columns(names)


def _text(name: str) -> str:
    return f"if({name} IS NULL, NULL, '{MASK}')"


def _failures(failures: str, hidden: tuple[str, ...] | None) -> str:
    """The failures without values of hidden columns; those of privacy rules never show one."""
    if hidden is None:
        return failures_sql(failures, PayloadPolicy.REFERENCE)
    veiled = failures_sql(failures, PayloadPolicy.REFERENCE)
    usual = failures_sql(failures, PayloadPolicy.MASKED, hidden) if hidden else failures
    private = f"lz_f.dimension = '{Dimension.PRIVACY}'"
    return f"transform({usual}, (lz_f, lz_i) -> if({private}, element_at({veiled}, lz_i + 1), lz_f))"


def _history(hidden: tuple[str, ...] | None) -> str:
    """The steps a record took, its earlier corrections and failures veiled like those of today."""
    veiled = {
        "correction": _veiled("lz_h.correction", hidden),
        "failures": _failures("lz_h.failures", hidden),
    }
    parts = ", ".join(f"'{name}', {veiled.get(name, f'lz_h.{name}')}" for name in MEMBERS)
    return f"transform(history, lz_h -> named_struct({parts}))"


def _veiled(name: str, hidden: tuple[str, ...] | None) -> str:
    """An object with hidden fields masked (all of them for None); whether a field is empty may be seen."""
    if hidden == ():
        return name
    which = "true"
    if hidden is not None:
        tops = sorted({column.casefold() for column in hidden} | {c.partition(".")[0].casefold() for c in hidden})
        which = f"array_contains(array({sql.literals(tops, 'string')}), lower(k))"
    mask = f"cast('{MASK}' as variant)"
    fields = f"transform_values(lz_m, (k, v) -> if({which} AND NOT coalesce(is_variant_null(v), true), {mask}, v))"
    whole = f"transform(array(try_variant_get({name}, '$', 'map<string, variant>')), lz_m -> "
    return f"if({name} IS NULL, NULL, {whole}if(lz_m IS NULL, {mask}, to_variant_object({fields})))[0])"
