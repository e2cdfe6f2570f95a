"""Every mistake in bad/ is found at its line, with its code and the words promised, and nothing else is."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from lazaretto.config import codes
from lazaretto.config.problems import Problem
from lazaretto.config.suites import load_suites

BAD = Path(__file__).parent / "bad"
EXPECTED = re.compile(r"# ERROR (LZ-CFG-\d{3})([^#\n]*)")


def promised() -> dict[tuple[str, int, str], list[str]]:
    found: dict[tuple[str, int, str], list[str]] = {}
    for path in sorted(BAD.glob("**/*.yml")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for code, words in EXPECTED.findall(line):
                key = (path.relative_to(BAD).as_posix(), number, code)
                found.setdefault(key, []).append(words.strip())
    return found


@pytest.fixture(scope="module")
def found() -> list[Problem]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(BAD)
        result = load_suites(project=BAD, env="dev", today=date(2026, 11, 18))
    assert not result.suites
    return list(result.errors)


def key_of(problem: Problem) -> tuple[str, int, str]:
    assert problem.location is not None
    return problem.location.file, problem.location.line, problem.code


def test_there_are_many() -> None:
    assert sum(map(len, promised().values())) >= 100


@pytest.mark.parametrize("key", promised(), ids=lambda key: f"{key[0]}:{key[1]}:{key[2]}")
def test_mistake_is_found(key: tuple[str, int, str], found: list[Problem]) -> None:
    texts = [str(problem) for problem in found if key_of(problem) == key]
    assert len(texts) == len(promised()[key]), texts or [str(p) for p in found if key_of(p)[:2] == key[:2]]
    for words in promised()[key]:
        assert any(words in text for text in texts), texts


def test_nothing_else_is_found(found: list[Problem]) -> None:
    surplus = Counter(map(key_of, found)) - Counter({key: len(words) for key, words in promised().items()})
    assert not surplus, [str(problem) for problem in found if key_of(problem) in surplus]


def test_messages_are_for_people(found: list[Problem]) -> None:
    jargon = re.compile(
        r"Input should|validator|pydantic|NoneType|Traceback|\bdict\b|\btuple\b|(?<!!)\bstr\b|object at 0x"
    )
    assert not [str(problem) for problem in found if jargon.search(str(problem))]


def test_every_code_of_the_catalogue_is_reached() -> None:
    """Those that need more than a file are in the other tests of this folder."""
    elsewhere = {
        codes.UNREADABLE,
        codes.TOO_LARGE,
        codes.NOT_UTF8,
        codes.EMPTY,
        codes.NO_PROJECT,
        codes.UNKNOWN_ENVIRONMENT,
        codes.OWN_CHECK,
        codes.NO_SUITES,
        codes.IN_THE_WAY,
        codes.SEVERAL_SUITES,
        codes.NO_POLICY,
    }
    errors = {entry.code for entry in codes.catalogue() if entry.level is codes.Level.ERROR}
    assert errors - elsewhere == {code for _, _, code in promised()}
