"""The quarantine: where rejected rows are kept, seen, and on their way out."""
