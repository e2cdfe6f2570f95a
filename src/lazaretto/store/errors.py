"""What can go wrong with the control store, each said in one sentence.

::

    StoreError
    ├── StoreUnreachable     not there, not answering, not writable: try again when it is
    ├── StoreTooNew          written by a later Lazaretto
    ├── SuiteChanged         a suite version is on record with other rules
    ├── RecordConflict       a record with this id says something else
    └── RecordMissing        what was asked for, or has to be there first, is not on record
"""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from lazaretto.model.errors import LazarettoError


class StoreError(LazarettoError):
    """The control store could not do what was asked."""


class StoreUnreachable(StoreError):
    """The store is not there, does not answer, or cannot be written."""


class StoreTooNew(StoreError):
    """The store was written by a later version of Lazaretto."""


class SuiteChanged(StoreError):
    """A suite version that is on record was changed."""


class RecordConflict(StoreError):
    """A record with this id is there already and says something else."""


class RecordMissing(StoreError):
    """Something that has to be on record is not."""


# What the drivers say → what it means. SQLite's are known by their text, whose wording has not changed in
# two decades.
_SQLITE = (
    ("unable to open", "it is not there or may not be opened"),
    ("no such table", "its tables are gone (lazaretto rebuild-store restores it from the lake)"),
    ("no such column", "its tables are not as Lazaretto made them"),
    ("locked", "another process is keeping it busy"),
    ("not a database", "the file is not a database"),
    ("malformed", "the file is damaged (lazaretto rebuild-store restores it from the lake)"),
    ("readonly", "it may not be written"),
    ("full", "the disk is full"),
    ("disk i/o", "the disk reported an error"),
)
_POSTGRES = {
    "42P01": "its tables are gone (lazaretto rebuild-store restores it from the lake)",
    "42501": "the user may not do that there",
    "53100": "the server's disk is full",
    "25006": "it may not be written",
}


def explain(error: SQLAlchemyError, shown: str) -> StoreError:
    """One sentence for an error of the database; `shown` is the store's address without its password."""
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = str(origin).strip().splitlines()[0].rstrip(".") if str(origin).strip() else type(origin).__name__
    if isinstance(error, IntegrityError):
        return StoreError(f"The control store {shown} refused a record: {text}.")
    meaning = _POSTGRES.get(getattr(origin, "sqlstate", None) or "")
    if meaning is None and type(origin).__module__.startswith("sqlite3"):
        meaning = next((meaning for sign, meaning in _SQLITE if sign in text.lower()), None)
    return StoreUnreachable(f"The control store {shown} cannot be used: {meaning or text}.")
