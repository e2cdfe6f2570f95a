"""What things are: rules, suites, results, decisions, seals. No Spark, no I/O."""
