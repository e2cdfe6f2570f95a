"""The catalogue of checks. Importing this package enters every built-in check into `model.catalogue`.

A check is one class: a subclass of `Rule` with a name, its parameters as fields, and `passes()` as SQL text.
To add one, write the class in the module of its family (or a new module here) and its golden test; the
schema, the documentation, `lazaretto checks` and the error texts follow by themselves.
See docs/adding-a-check.md.
"""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
