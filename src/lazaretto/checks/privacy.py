"""Is something here that should not be readable?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from lazaretto.checks import sql
from lazaretto.checks.backtracking import check_pattern
from lazaretto.checks.base import TextRule, sorted_lists, text_of
from lazaretto.checks.checksums import IBAN_FORM, luhn_holds, mod97_holds
from lazaretto.model.rule import Rule, Site
from lazaretto.model.words import Dimension

Detector = Literal["email", "phone", "card", "iban", "national_id"]
Country = Literal["AE", "ES", "GB", "IN", "IT", "SG", "US"]

_WORDS: dict[str, str] = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "card": "card numbers",
    "iban": "IBANs",
    "national_id": "national identity numbers",
}
_EMAIL = r"[A-Za-z0-9_%+'-][A-Za-z0-9._%+'-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,}"
_PHONE = (
    r"(?<![0-9A-Za-z+])(?:(?:\+|00)[1-9](?:[ ./()-]{0,2}[0-9]){6,13}"
    r"|\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[.-][0-9]{4})(?![0-9])"
)
_NATIONAL_IDS: dict[str, str] = {
    "AE": "784-?(?:19|20)[0-9]{2}-?[0-9]{7}-?[0-9]",
    "ES": "(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-HJ-NP-TV-Z]",
    "GB": "(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
    "IN": "(?<![0-9][ -])[2-9][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}(?![ -]?[0-9])",
    "IT": "[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]",
    "SG": "[STFGM][0-9]{7}[A-Z]",
    "US": "(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}",
}
# Whatever has a number to be found has six digits not far from each other.
_SIX_DIGITS = "[0-9](?:[^0-9]{0,2}[0-9]){5}"
# Candidates begin wherever one could; looking ahead for them lets them overlap.
_CARD = r"(?<![0-9])(?=([2-6](?:[ -]?[0-9]){12,18})(?![0-9]))"
_IBAN = r"(?<![0-9A-Za-z])(?=([A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]){11,30}))"
_IBAN_BEGINS = "[A-Z]{2}[0-9]{2}"
_IBAN_PREFIX = rf"\A{IBAN_FORM}"


class NoPii(Rule):
    """The text holds no personal data: e-mail addresses, telephone, card, account or identity numbers."""

    name: ClassVar[str] = "no_pii"
    family: ClassVar[str] = "privacy"
    default_dimension: ClassVar[Dimension] = Dimension.PRIVACY
    hides_value: ClassVar[bool] = True
    example: ClassVar[str] = """
        id: no_personal_data_in_comments
        check: no_pii
        column: comment
        detectors: [email, phone, card, iban]
    """
    note: ClassVar[str] = (
        "Finds what has a recognisable form, anywhere in the text; names and addresses it does not know."
        " Card numbers and IBANs must have valid check digits."
        " Texts without an @, six digits near each other or the beginning of an IBAN are spared the costly search."
    )

    detectors: tuple[Detector, ...] = Field(default=("email", "phone", "card", "iban", "national_id"), min_length=1)
    """What to look for: email, phone, card, iban, national_id; all of them if left out."""
    countries: tuple[Country, ...] = Field(default=("AE", "ES", "GB", "IN", "IT", "SG", "US"), min_length=1)
    """Whose identity numbers to look for; all that are known if left out."""

    def passes(self, site: Site) -> str:
        # Nested values are searched through their JSON, whatever their shape.
        text = f"to_json({site.value})" if sql.is_nested(site.type) else text_of(site)
        # Each find begins with a cheap look that spares most texts the expensive one.
        finds = []
        if "email" in self.detectors:
            finds.append(f"contains({text}, '@') AND {sql.matches(text, _EMAIL)}")
        if numbers := self._numbers(text):
            finds.append(f"{sql.matches(text, _SIX_DIGITS)} AND ({' OR '.join(numbers)})")
        if "iban" in self.detectors:
            # A candidate may run on into the next word: its country says how much of it is the IBAN.
            exact = f"regexp_extract(replace(lz_found, ' ', ''), {sql.text(_IBAN_PREFIX)}, 0)"
            finds.append(f"{sql.matches(text, _IBAN_BEGINS)} AND {_any_found(text, _IBAN, mod97_holds(exact))}")
        return f"NOT ({' OR '.join(f'({find})' for find in finds)})"

    def _numbers(self, text: str) -> list[str]:
        patterns = []
        if "phone" in self.detectors:
            patterns.append(_PHONE)
        if "national_id" in self.detectors:
            ids = "|".join(_NATIONAL_IDS[country] for country in self.countries)
            patterns.append(rf"(?<![0-9A-Za-z-])(?:{ids})(?![0-9A-Za-z-])")
        finds = [sql.matches(text, "|".join(patterns))] if patterns else []
        if "card" in self.detectors:
            finds.append(_any_found(text, _CARD, luhn_holds("translate(lz_found, ' -', '')")))
        return finds

    def expects(self) -> str:
        return "no " + ", ".join(_WORDS[detector] for detector in self.detectors)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["detectors", "countries"])


def _any_found(text: str, pattern: str, condition: str) -> str:
    """SQL: some candidate that the pattern finds in the text fulfils the condition (on `lz_found`)."""
    return f"exists(regexp_extract_all({text}, {sql.text(pattern)}, 1), lz_found -> {condition})"


class Masked(TextRule):
    """The value is masked: mask characters with a few readable ones at the end, or a hash, or your form."""

    name: ClassVar[str] = "masked"
    family: ClassVar[str] = "privacy"
    default_dimension: ClassVar[Dimension] = Dimension.PRIVACY
    hides_value: ClassVar[bool] = True
    example: ClassVar[str] = """
        id: card_number_masked
        check: masked
        column: card_number
        visible: 4
    """

    form: Literal["mask", "sha256", "sha512"] = "mask"
    """mask: `**** **** **** 1234`; sha256, sha512: a hash in hexadecimal digits."""
    visible: Annotated[int, Field(ge=0, le=64)] | None = None
    """How many characters may be readable at the end; 4 if left out."""
    characters: Annotated[str, Field(min_length=1)] | None = None
    """The characters that hide others; *, x, X, # and dots (•, ●) if left out."""
    pattern: str | None = None
    """A regular expression of your own for the whole value, instead."""

    @model_validator(mode="after")
    def _one_way(self) -> Masked:
        own = self.visible is not None or self.characters is not None
        if self.pattern is not None:
            if own or self.form != "mask":
                raise ValueError("give `pattern`, or `form`, `visible` and `characters`, not both")
            check_pattern(self.pattern)
        elif own and self.form != "mask":
            raise ValueError(f"`visible` and `characters` belong to `form: mask`, not to {self.form}")
        return self

    def passes(self, site: Site) -> str:
        return sql.matches_whole(text_of(site), self.pattern or self._whole())

    def _whole(self) -> str:
        if self.form != "mask":
            return f"[0-9A-Fa-f]{{{64 if self.form == 'sha256' else 128}}}"
        hidden = "".join(rf"\x{{{ord(c):x}}}" for c in self.characters or "*xX#•●")
        between = r"[ ./-]*+"
        return rf"{between}(?:[{hidden}]{between})++(?:[^{hidden}\s./-]{between}){{0,{self._readable}}}"

    def expects(self) -> str:
        if self.pattern is not None:
            return f"a masked value matching {self.pattern}"
        if self.form != "mask":
            return f"a hash ({self.form})"
        return f"a masked value with at most {self._readable} readable characters at the end"

    @property
    def _readable(self) -> int:
        return 4 if self.visible is None else self.visible
