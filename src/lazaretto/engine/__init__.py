"""Judging rows: suite → plan → bitmasks → verdicts, and staging what was judged."""
