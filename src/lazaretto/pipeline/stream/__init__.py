"""Streams: the same batch function, fed by Spark's micro-batches.

The truth about how far a source was taken lies in the target's log, in the commits of the batches themselves. Spark's
checkpoint is only how Spark is told where to go on: one that is lost, torn, stale or somebody else's is written anew.
"""
