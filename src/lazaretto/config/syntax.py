"""A YAML parser's complaints, in words that say what to do."""

from __future__ import annotations

_QUOTE = "put the text in quotes"


def describe(problem: str, context: str, lines: list[str], line: int) -> tuple[str, str | None]:
    """What is wrong and what to do, from the parser's words and the line they are about."""
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    if "'\\t'" in problem or "\\t" in problem or "\t" in here[: len(here) - len(here.lstrip())]:
        return "a tab in the indentation", "indent with spaces"
    if "${" in here and ("but got" in problem or "flow" in context):
        return "`${...}` inside [ ] or { } needs quotes", 'write "${name}"'
    if problem.startswith("mapping values are not allowed"):
        return (
            "a ':' where none can stand",
            f"{_QUOTE}, or check the indentation of this line and the one above",
        )
    if problem.startswith("sequence entries are not allowed"):
        return "a '-' where no list can begin", "begin the list on the next line, indented"
    if "that cannot start any token" in problem:
        return f"text cannot begin with {problem.split('character ')[-1].split(' that')[0]}", _QUOTE
    if "quoted scalar" in context:
        return (
            "a quote that is never closed, or a bad escape in it",
            "close it; in double quotes, \\ must be written \\\\",
        )
    if "could not find expected ':'" in problem:
        return "a line without a ':'", "write `key: value`, or indent it below the key it belongs to"
    if "flow sequence" in context:
        return "a list [ ] that is not closed or lacks a comma", "close it with ]"
    if "flow mapping" in context or "flow node" in context:
        return "a { } that is not closed or lacks a comma", "close it with }"
    if "block end" in problem:
        return "this line does not fit the indentation above it", "align it with its neighbours"
    if "document start" in problem or "node content" in problem:
        return (
            "this does not belong to what stands above it",
            "check the indentation, and brackets that are not closed",
        )
    if "alias" in context or "anchor" in context:
        return "& and * begin an anchor or an alias, and this is neither", _QUOTE
    if "directive" in context:
        return "a directive (%) that cannot be read", f"remove it, or {_QUOTE}"
    return f"this is not YAML: {problem or context}", None
