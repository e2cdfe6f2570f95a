"""A SQL statement as a person typed it, taken apart no further than is needed to send it to the right tables.

Only names are replaced, in the text itself: what Spark runs is what was typed. So nothing depends on a second
parser knowing all of Spark's grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lazaretto.model.errors import LazarettoError
from lazaretto.quarantine.views import DATASET_PREFIX, OUTBOX, RECORDS, UNIVERSAL, VIEWS


class SqlError(LazarettoError):
    """A statement that cannot be run, in one sentence."""


@dataclass(frozen=True)
class Token:
    """A word, sign or literal, and where it stands in the text."""

    text: str
    start: int
    end: int
    """Position after the last character."""
    is_name: bool
    is_string: bool
    depth: int
    """How many brackets it stands in."""

    @property
    def word(self) -> str:
        """The text as keywords are compared."""
        return self.text.upper()


def tokens_of(text: str) -> list[Token]:
    """The tokens of one statement, without the semicolon at its end."""
    from sqlglot.dialects.databricks import Databricks
    from sqlglot.errors import TokenError

    try:
        raw = Databricks().tokenize(text)
    except TokenError as error:
        raise SqlError(f"this is not SQL: {str(error).splitlines()[0]}") from None
    tokens: list[Token] = []
    depth = 0
    for token in raw:
        if token.text == ")":
            depth -= 1
        kind = token.token_type.name
        string = kind in ("STRING", "RAW_STRING")
        word = kind == "IDENTIFIER" or token.text.replace("_", "a").isalnum()
        name = word and not string and kind != "NUMBER"
        tokens.append(Token(token.text, token.start, token.end + 1, name, string, depth))
        if token.text == "(":
            depth += 1
    while tokens and tokens[-1].text == ";" and not tokens[-1].is_string:
        tokens.pop()
    if not tokens:
        raise SqlError("there is no statement")
    if any(token.text == ";" and not token.is_string and not token.is_name for token in tokens):
        raise SqlError("one statement at a time, please")
    return tokens


def chains(tokens: list[Token]) -> Iterator[list[Token]]:
    """The names in a statement: `a`, `a.b`, `a.b.c`, part by part."""
    position = 0
    while position < len(tokens):
        if not tokens[position].is_name:
            position += 1
            continue
        chain = [tokens[position]]
        position += 1
        while position + 1 < len(tokens) and tokens[position].text == "." and tokens[position + 1].is_name:
            chain.append(tokens[position + 1])
            position += 2
        yield chain


@dataclass(frozen=True)
class Names:
    """What qualified names mean here: views have no catalog and no schema, tables of the lake are folders."""

    schema: str = "quarantine"
    table_path: Callable[[str, str], str | None] = lambda schema, table: None
    """(schema, table) → folder of a table of the lake."""

    def meaning(self, chain: list[Token]) -> tuple[int, str] | None:
        """How many parts of a chain name a view, and which."""
        parts = [token.text.casefold() for token in chain]
        for count in (2, 3):
            if len(parts) < count:
                break
            schema, name = parts[count - 2], parts[count - 1]
            # Whoever knows the queue by these names has it in a catalog and schema of his own.
            if name in (UNIVERSAL, OUTBOX):
                return count, name
            if schema == self.schema.casefold():
                if name == "records":
                    return count, RECORDS
                if name in VIEWS or name.startswith(DATASET_PREFIX):
                    return count, name
        return None

    def lake_table(self, chain: list[Token]) -> str | None:
        """The folder of the lake's table that a chain begins with."""
        return self.table_path(chain[0].text, chain[1].text) if len(chain) > 1 else None


@dataclass(frozen=True)
class Resolved:
    """A statement with names that Spark knows."""

    text: str
    tables: dict[str, str]
    """Views to be made for the lake's tables: view → folder."""


def resolve(text: str, names: Names) -> Resolved:
    """Replace the qualified names of views and of the lake's tables."""
    replacements: list[tuple[int, int, str]] = []
    tables: dict[str, str] = {}
    tokens = tokens_of(text)
    changed = _changed(tokens)
    for chain in chains(tokens):
        if (found := names.meaning(chain)) is not None:
            count, view = found
        elif (path := names.lake_table(chain)) is not None:
            if chain[0] is changed:
                table = f"{chain[0].text}.{chain[1].text}"
                raise SqlError(f"{table} is guarded: rows get into it and out of it through `lazaretto run`")
            count, view = 2, _view_of(chain, path, tables)
        else:
            continue
        replacements.append((chain[0].start, chain[count - 1].end, f"`{view}`"))
    for start, end, name in reversed(replacements):
        text = text[:start] + name + text[end:]
    return Resolved(text, tables)


def _changed(tokens: list[Token]) -> Token | None:
    """The first part of the name of the table that a statement changes."""
    if tokens[0].word not in _CHANGING:
        return None
    return next((token for token in tokens[1:] if token.word not in _BEFORE_NAME), None)


_CHANGING = ("UPDATE", "DELETE", "INSERT", "MERGE", "TRUNCATE", "DROP", "ALTER", "REPLACE", "RESTORE")
_BEFORE_NAME = ("FROM", "INTO", "OVERWRITE", "TABLE", "IF", "EXISTS")


def _view_of(chain: list[Token], path: str, tables: dict[str, str]) -> str:
    """A name for the view of a table: the table's own, so that `table.column` works, unless it is taken."""
    name = chain[1].text.replace("`", "``")
    if name.casefold() in VIEWS or tables.get(name, path) != path:
        name = f"{chain[0].text}_{chain[1].text}".replace("`", "``")
    tables[name] = path
    return name
