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
"""Regular expression of an IBAN without blanks: country, check digits, and as long as the country has it."""


def luhn_holds(digits: str) -> str:
    """SQL: a text of digits has the right last digit (ISO/IEC 7812)."""
    # From the right, every second digit counts double, and nine less where that has two digits.
    worth = (
        "CASE WHEN lz_place % 2 = 0 THEN ascii(lz_digit) - 48"
        " WHEN lz_digit > '4' THEN 2 * ascii(lz_digit) - 105 ELSE 2 * ascii(lz_digit) - 96 END"
    )
    worths = f"transform(split(reverse({digits}), ''), (lz_digit, lz_place) -> {worth})"
    return f"aggregate({worths}, 0, (lz_sum, lz_worth) -> lz_sum + lz_worth) % 10 = 0"


def mod97_holds(iban: str) -> str:
    """SQL: an IBAN without blanks has the right check digits (ISO 7064, mod 97-10)."""
    # The first four characters go to the end, letters count from 10 (A) to 35 (Z), and the number leaves 1.
    country = f"ascii(substr({iban}, 1, 1)) - 55, ascii(substr({iban}, 2, 1)) - 55"
    # Most countries have digits only after the check digits: at most 36 in all, one decimal, no walk over characters.
    number = f"cast(concat(substr({iban}, 5), {country}, substr({iban}, 3, 2)) as decimal(38,0))"
    moved = f"concat(substr({iban}, 5), substr({iban}, 1, 4))"
    step = (
        "CASE WHEN lz_sign >= 'A' THEN (lz_rest * 100 + ascii(lz_sign) - 55) % 97"
        " ELSE (lz_rest * 10 + ascii(lz_sign) - 48) % 97 END"
    )
    walked = f"aggregate(split({moved}, ''), 0, (lz_rest, lz_sign) -> {step}) = 1"
    only_digits = sql.matches_whole(f"substr({iban}, 5)", "[0-9]{11,30}")
    return f"CASE WHEN {only_digits} THEN {number} % 97 = 1 ELSE {walked} END"


def iban_holds(iban: str) -> str:
    """SQL: a text without blanks is an IBAN."""
    return f"{sql.matches_whole(iban, IBAN_FORM)} AND {mod97_holds(iban)}"
