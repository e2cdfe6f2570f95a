"""Optional packages: imported where they are used, and missed with the command that installs them."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from lazaretto.model.errors import MissingExtra


def require(module: str, *, extra: str) -> ModuleType:
    """Import `module`, or say which extra of Lazaretto brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # An installed package whose own dependency is missing is another problem: do not disguise it.
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise _missing(module, extra) from None


def package_folder(package: str, *, extra: str) -> Path:
    """Say where `package` is installed without importing it (importing pyspark takes half a second)."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise _missing(package, extra)
    return Path(spec.origin).parent


def _missing(module: str, extra: str) -> MissingExtra:
    return MissingExtra(f"{module.partition('.')[0]} is not installed.", f"Run: pip install 'lazaretto[{extra}]'")
