"""The kinds of steps a correction is made of. Importing this package enters all of them into the list.

A transformation is one class: a subclass of `Transformation` with a name, its parameters as fields, and `value()` as
SQL text. To add one, write the class in the module of its family and its golden pair in tests/golden_corrections; the
schema, the documentation and the error texts follow by themselves.
"""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
