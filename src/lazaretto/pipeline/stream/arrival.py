"""The gate before a file is read: is it complete, is it what it says, was it there before? No Spark, one pass."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import time
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from lazaretto.model.landing import Landing

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Arrived:
    """A complete file, and what was found when it was looked at."""

    path: Path
    content: str
    """SHA-256 of the content, unpacked: the same file twice has the same, whatever it is called."""
    rows: int
    """Lines that are data."""
    fault: str | None = None
    """Why it is not to be trusted, without any of its values."""
    readable: bool = True
    """Whether its lines can be read at all."""
    not_data: tuple[str, ...] = ()
    """The lines that are a header, the names of columns, or a trailer."""

    @property
    def mark(self) -> str:
        """By this the file is known once it was taken."""
        return f"{self.path.name}|{self.content}"


@dataclass
class Gate:
    """Looks at a folder again and again."""

    folder: Path
    landing: Landing
    columns: tuple[str, ...]
    _sizes: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _known: dict[Path, tuple[tuple[int, int], Arrived]] = field(default_factory=dict)

    def complete(self) -> list[Path]:
        """Files that have arrived, the oldest first."""
        found = []
        for path in self.folder.glob(self.landing.files):
            if not path.is_file() or path.name.startswith((".", "_")) or self._is_marker(path):
                continue
            about = path.stat()
            size = (about.st_size, about.st_mtime_ns)
            before, self._sizes[path] = self._sizes.get(path), size
            if self.landing.done is not None:
                ready = self._marker(path).exists()
            else:
                still_since = time.time() - about.st_mtime
                settle = self.landing.settle.total_seconds()
                ready = still_since >= settle and (before in (None, size))
            if ready:
                found.append((about.st_mtime_ns, path))
        return [path for _, path in sorted(found)]

    def look(self, path: Path, taken: Collection[str]) -> Arrived:
        """Examine a complete file. `taken` are the marks of those that were taken before."""
        about = path.stat()
        size = (about.st_size, about.st_mtime_ns)
        known = self._known.get(path)
        arrived = known[1] if known and known[0] == size else self._examine(path)
        self._known[path] = (size, arrived)
        if arrived.fault is None and arrived.mark not in taken:
            twin = next((mark for mark in taken if mark.endswith(f"|{arrived.content}")), None)
            if twin is not None:
                name = twin.rpartition("|")[0]
                return replace(arrived, fault=f"the same content came before, as {name}", not_data=())
        return arrived

    def _is_marker(self, path: Path) -> bool:
        pattern = self.landing.done
        if pattern is None:
            return False
        before, _, after = pattern.partition("{name}")
        return path.name.startswith(before) and path.name.endswith(after) and bool(after or before)

    def _marker(self, path: Path) -> Path:
        return path.with_name(str(self.landing.done).replace("{name}", path.name))

    def _examine(self, path: Path) -> Arrived:
        raw = hashlib.sha256()
        unpacked = hashlib.sha256()
        lines = _Lines()
        fault = None
        if path.stat().st_size == 0:
            return Arrived(path, unpacked.hexdigest(), 0, "the file has zero bytes", readable=False)
        try:
            with path.open("rb") as file:
                for block in _unpacked(_Counted(file, raw), packed=path.suffix == ".gz"):
                    unpacked.update(block)
                    lines.take(block)
            lines.end()
        except (EOFError, gzip.BadGzipFile, zlib.error):
            fault = "the compression is truncated or damaged"
        except UnicodeDecodeError:
            fault = "the encoding is not UTF-8"
        content = unpacked.hexdigest()
        if fault is not None:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            return Arrived(path, content, 0, fault, readable=False)
        rows, fault = self._records(lines)
        fault = fault or self._against_the_manifest(path, raw.hexdigest(), rows)
        # Of a file that is refused every line is kept.
        return Arrived(path, content, rows, fault, not_data=self._not_data(lines) if fault is None else ())

    def _records(self, lines: _Lines) -> tuple[int, str | None]:
        landing, rows = self.landing, lines.count
        if landing.header is not None:
            rows -= 1
            if re.fullmatch(landing.header, lines.first) is None:
                return rows, "the header record is missing"
        if landing.names:
            rows -= 1
            first = lines.second if landing.header is not None else lines.first
            names = [name.strip().strip('"') for name in first.split(landing.separator)]
            if [n.casefold() for n in names] != [c.casefold() for c in self.columns]:
                return rows, "the names of the columns are not those of the schema"
        if landing.trailer is not None:
            rows -= 1
            found = re.fullmatch(landing.trailer, lines.last)
            if found is None:
                return rows, "the trailer record is missing: the file was cut off, or is another kind of file"
            declared = found.groupdict().get("rows")
            if declared is not None and int(declared) != rows:
                return rows, f"the trailer declares {int(declared):,} rows, and {rows:,} were read"
        return max(0, rows), None

    def _not_data(self, lines: _Lines) -> tuple[str, ...]:
        landing = self.landing
        found = [lines.first] if landing.header is not None else []
        if landing.names:
            found.append(lines.second if landing.header is not None else lines.first)
        return tuple([*found, lines.last] if landing.trailer is not None else found)

    def _against_the_manifest(self, path: Path, sha256: str, rows: int) -> str | None:
        if self.landing.done is None:
            return None
        text = self._marker(path).read_text(encoding="utf-8", errors="replace").strip()
        if not text.startswith("{"):
            return None
        try:
            manifest = json.loads(text)
        except ValueError:
            return "the manifest cannot be read"
        if (declared := manifest.get("sha256")) is not None and str(declared).casefold() != sha256:
            return "the checksum is not the one of the manifest"
        if (declared := manifest.get("bytes")) is not None and int(declared) != path.stat().st_size:
            return f"the manifest declares {int(declared):,} bytes, and the file has {path.stat().st_size:,}"
        if (declared := manifest.get("rows")) is not None and int(declared) != rows:
            return f"the manifest declares {int(declared):,} rows, and {rows:,} were read"
        return None


@dataclass
class _Counted:
    """A file that is hashed while it is read."""

    file: IO[bytes]
    hash: Any

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        self.hash.update(block)
        return block


def _unpacked(file: _Counted, *, packed: bool) -> Iterator[bytes]:
    if not packed:
        while block := file.read(_BLOCK):
            yield block
        return
    unpack = zlib.decompressobj(wbits=31)
    while block := file.read(_BLOCK):
        while block:
            yield unpack.decompress(block)
            block = unpack.unused_data
            if unpack.eof and block:
                unpack = zlib.decompressobj(wbits=31)  # members may follow each other
    if not unpack.eof:
        raise EOFError


@dataclass
class _Lines:
    """First, second and last line and the number of lines that are not blank; everything has to be UTF-8."""

    count: int = 0
    first: str = ""
    second: str = ""
    last: str = ""
    _rest: bytes = b""

    def take(self, block: bytes) -> None:
        """Another part of the file."""
        *whole, self._rest = (self._rest + block).split(b"\n")
        for line in whole:
            self._line(line)

    def end(self) -> None:
        """The last line needs no line end."""
        self._line(self._rest)
        self._rest = b""

    def _line(self, line: bytes) -> None:
        text = line.decode("utf-8").removesuffix("\r")
        if not text.strip():
            return
        self.count += 1
        if self.count == 1:
            self.first = text
        elif self.count == 2:
            self.second = text
        self.last = text
