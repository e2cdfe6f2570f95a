"""All benchmarks: `make bench`. Sizes in rows may be given: `python benchmarks/run.py 1000000 4000000`."""

from __future__ import annotations

import sys

import batch
import corrections
import looking
import recycle
import split
import stream

if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:]] or [1_000_000, 4_000_000]
    split.main(sizes)
    batch.main(sizes)
    corrections.main()
    recycle.main()
    looking.main(sizes)
    stream.main([size for size in (1_000, 10_000, 100_000) if size <= max(sizes)])
