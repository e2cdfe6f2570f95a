"""Checksums as native SQL: Spark's higher-order functions walk over the characters.

The texts must have been seen to be of the right form first, which also spares most wrong ones the effort.
Nothing here throws on other texts, but nothing is promised about them either.
"""

from __future__ import annotations

from lazaretto.checks import sql
from lazaretto.checks.codes import IBAN_LENGTHS

IBAN_FORM = (
    "(?:"
    + "|".join(
        f"(?:{countries.replace(' ', '|')})[0-9]{{2}}[0-9A-Z]{{{length - 4}}}"
        for length, countries in IBAN_LENGTHS.items()
    )
    + ")"
)
"""Regular expression that finds an IBAN without blanks: country, check digits, and as long as the country has it."""

_COUNTRY_AND_LENGTH = [f"{c}{length}" for length, countries in IBAN_LENGTHS.items() for c in countries.split()]


def luhn_holds(digits: str) -> str:
    """SQL: a text of digits has the right last digit (ISO/IEC 7812)."""
    # From the right, every second digit counts double, and nine less where that has two digits.
    worth = (
        "CASE WHEN lz_place % 2 = 0 THEN ascii(lz_digit) - 48"
        " WHEN lz_digit > '4' THEN 2 * ascii(lz_digit) - 105 ELSE 2 * ascii(lz_digit) - 96 END"
    )
    worths = f"transform(split(reverse({digits}), ''), (lz_digit, lz_place) -> {worth})"
    return f"aggregate({worths}, 0, (lz_sum, lz_worth) -> lz_sum + lz_worth) % 10 = 0"


def iban_holds(iban: str) -> str:
    """SQL: a text without blanks is an IBAN: of a country, as long as the country has it, with fitting check digits."""
    # A set of short texts is one hash away; eighty countries in the expression would be tried one by one.
    known = f"concat(substr({iban}, 1, 2), length({iban})) IN ({sql.literals(_COUNTRY_AND_LENGTH, 'string')})"
    return f"{known} AND {mod97_holds(iban)}"


def mod97_holds(iban: str) -> str:
    """SQL: a text without blanks has an IBAN's form and check digits (ISO 7064, mod 97-10), of whatever country."""
    # The first four characters go to the end, letters count from 10 (A) to 35 (Z), and the number leaves 1. Most
    # countries have digits only after the check digits, many the four letters of a bank and then digits: two numbers
    # then, and no walk over characters.
    first, second, *bank = (f"(ascii(substr({iban}, {place}, 1)) - 55)" for place in (1, 2, 5, 6, 7, 8))
    end = f"({first} * 10000 + {second} * 100 + cast(substr({iban}, 3, 2) as int))"
    bank_number = f"({bank[0]} * 1000000 + {bank[1]} * 10000 + {bank[2]} * 100 + {bank[3]})"
    forms = {
        "[0-9]{11,30}": _left_by_97(f"substr({iban}, 5)", f"(length({iban}) - 4)", end),
        "[A-Z]{4}[0-9]{7,26}": _left_by_97(f"concat({bank_number}, substr({iban}, 9))", f"length({iban})", end),
        "[0-9A-Z]{11,30}": _walked(iban),
    }
    cases = [
        f"WHEN {sql.matches_whole(iban, f'[A-Z]{{2}}[0-9]{{2}}{form}')} THEN {left} = 1" for form, left in forms.items()
    ]
    return f"CASE {' '.join(cases)} WHEN {iban} IS NOT NULL THEN false END"


def _left_by_97(text: str, length: str, end: str) -> str:
    """SQL: what 97 leaves of a number of at most 34 digits, given as text, with six more digits at its end."""
    upper = f"cast(concat('0', substr({text}, 1, greatest({length} - 15, 0))) as bigint)"
    lower = f"cast(substr({text}, greatest({length} - 14, 1)) as bigint)"
    number = f"(({upper} % 97 * {10**15 % 97} + {lower} % 97) % 97 * {10**6 % 97} + {end})"
    return f"{number} % 97"


def _walked(iban: str) -> str:
    """SQL: the same, character by character."""
    moved = f"concat(substr({iban}, 5), substr({iban}, 1, 4))"
    step = (
        "CASE WHEN lz_sign >= 'A' THEN (lz_rest * 100 + ascii(lz_sign) - 55) % 97"
        " ELSE (lz_rest * 10 + ascii(lz_sign) - 48) % 97 END"
    )
    return f"aggregate(split({moved}, ''), 0, (lz_rest, lz_sign) -> {step})"
