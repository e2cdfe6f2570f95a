"""Lazaretto: a data quality engine for Spark.

Rules in YAML, every row inspected in one pass, bad rows quarantined with the reason, and a gate that decides what
may be published. Importing this package imports no Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazaretto.config.suites import load_suite, load_suites
    from lazaretto.engine.split import Split, annotate, split
    from lazaretto.model.rule import Rule
    from lazaretto.model.run import RunResult
    from lazaretto.model.stream import StreamResult
    from lazaretto.model.suite import Suite
    from lazaretto.model.suite import make_rule as rule
    from lazaretto.pipeline.api import load_exported_suite, recycle, register_views, run
    from lazaretto.pipeline.stream.api import stream
    from lazaretto.pipeline.trust import require_certified

__version__ = "0.1.0"

_PUBLIC = {
    "Rule": "lazaretto.model.rule:Rule",
    "Split": "lazaretto.engine.split:Split",
    "StreamResult": "lazaretto.model.stream:StreamResult",
    "Suite": "lazaretto.model.suite:Suite",
    "annotate": "lazaretto.engine.split:annotate",
    "load_exported_suite": "lazaretto.pipeline.api:load_exported_suite",
    "load_suite": "lazaretto.config.suites:load_suite",
    "load_suites": "lazaretto.config.suites:load_suites",
    "RunResult": "lazaretto.model.run:RunResult",
    "rule": "lazaretto.model.suite:make_rule",
    "register_views": "lazaretto.pipeline.api:register_views",
    "require_certified": "lazaretto.pipeline.trust:require_certified",
    "recycle": "lazaretto.pipeline.api:recycle",
    "run": "lazaretto.pipeline.api:run",
    "stream": "lazaretto.pipeline.stream.api:stream",
    "split": "lazaretto.engine.split:split",
}

__all__ = [
    "Rule",
    "RunResult",
    "Split",
    "StreamResult",
    "Suite",
    "annotate",
    "load_exported_suite",
    "load_suite",
    "load_suites",
    "recycle",
    "register_views",
    "require_certified",
    "rule",
    "run",
    "split",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that a command pays only for what it needs."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lazaretto' has no attribute {name!r}")
    import_module("lazaretto.checks")  # whoever builds a suite needs the catalogue
    module, attribute = _PUBLIC[name].split(":")
    return getattr(import_module(module), attribute)
