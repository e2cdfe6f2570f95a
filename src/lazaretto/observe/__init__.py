"""What is told about runs to others: exports, metrics, reports. Reads the store, never decides.

::

    Suite ─────────► checks_table ──► rows of the checks table ──► Suite again, fingerprint and all
    GateDecision ──► summary ───────► rows of the summary metrics
"""
