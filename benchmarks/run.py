"""All benchmarks: `make bench`. Sizes in rows may be given: `python benchmarks/run.py 1000000 4000000`."""

from __future__ import annotations

import sys

import batch
import split

if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:]] or [1_000_000, 4_000_000]
    split.main(sizes)
    batch.main(sizes)
