"""YAML in, model out: line numbers, substitution, presets, environments, JSON Schema, other dialects.

Nothing here knows Spark, so that `lazaretto validate` answers at once.
"""
