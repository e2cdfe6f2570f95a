"""Files in a table's folder that the table's log does not account for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from lazaretto.spark.commits import Commit
from lazaretto.spark.files import is_local, local


def strays(table: str, log: Sequence[Commit]) -> Iterator[str]:
    """Data files that no commit knows of, and committed ones that were changed in place (local tables only)."""
    if not is_local(table) or not log:
        return
    root = local(table)
    whole = log[0].version == 0
    sizes = {unquote(str(f["path"])): int(f["size"]) for commit in log for f in commit.added}
    gone = {unquote(str(f["path"])) for commit in log for f in commit.removed}
    moved = {unquote(path) for commit in log for path in commit.moved}
    for path in _data_files(root):
        name = str(path.relative_to(root))
        if name in sizes:
            if path.stat().st_size != sizes[name]:
                yield f"the file {name} was changed after it was committed"
        elif name not in gone and name not in moved and (whole or path.stat().st_mtime * 1000 > log[0].at):
            yield f"the file {name} is in the table's folder and in no commit (readers of the table do not see it)"


def _data_files(root: Path) -> Iterator[Path]:
    """What a reader of plain Parquet would take for data; a stage that never got its seal is nobody's."""
    for path in sorted(root.rglob("*.parquet")):
        parts = path.relative_to(root).parts
        if not any(part.startswith(("_", ".")) for part in parts) and not _staged(root, parts):
            yield path


def _staged(root: Path, parts: tuple[str, ...]) -> bool:
    return parts[0].startswith("lz-") and "lz_route=accepted" not in parts
