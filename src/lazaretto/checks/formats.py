"""Is the text what its name promises: an address, a number, a code?"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from lazaretto.checks import sql
from lazaretto.checks.base import TextRule, sorted_lists, text_of
from lazaretto.checks.checksums import iban_holds, luhn_holds
from lazaretto.checks.codes import COUNTRIES_ALPHA2, COUNTRIES_ALPHA3, CURRENCIES
from lazaretto.model.rule import Site

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP_LABEL = "(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{1,58}[A-Za-z0-9])"
_MAILBOX = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_HEX = "[0-9A-Fa-f]{1,4}"
_LAST_32_BITS = f"(?:{_HEX}:{_HEX}|{_IPV4})"


def _ipv6() -> str:
    """RFC 3986: eight groups, of which `::` may replace some; the last two may be written as IPv4."""
    forms = [f"(?:{_HEX}:){{6}}{_LAST_32_BITS}", f"::(?:{_HEX}:){{5}}{_LAST_32_BITS}"]
    for before in range(1, 8):
        after = 7 - before  # groups that may still follow `::`
        head = f"(?:{_HEX}(?::{_HEX}){{0,{before - 1}}})?::"
        tail = {0: "", 1: _HEX}.get(after, f"(?:{_HEX}:){{{after - 2}}}{_LAST_32_BITS}")
        forms.append(head + tail)
    return "(?:" + "|".join(forms) + ")"


class TextFormat(TextRule):
    """A format that one regular expression describes."""

    family: ClassVar[str] = "formats"
    form: ClassVar[str] = ""
    words: ClassVar[str] = ""

    def passes(self, site: Site) -> str:
        return sql.matches_whole(text_of(site), self.form)

    def expects(self) -> str:
        return self.words


class Email(TextFormat):
    """The text is an e-mail address (in ASCII, as mail servers everywhere take it)."""

    name: ClassVar[str] = "email"
    words: ClassVar[str] = "an e-mail address"
    # Possessive, because nothing can be given back: faster, and no recursion that a long text could overflow.
    form: ClassVar[str] = rf"(?=[^@]{{1,64}}+@){_MAILBOX}++(?:\.{_MAILBOX}++)*+@(?:{_LABEL}\.)++{_TOP_LABEL}"
    longest: ClassVar[int] = 254
    example: ClassVar[str] = """
        id: email_valid
        check: email
        column: email
    """
    note: ClassVar[str] = "The form only: whether the mailbox exists, no expression can tell."

    def passes(self, site: Site) -> str:
        # Bytes, which nobody has to count: an address has as many characters.
        return f"octet_length({text_of(site)}) <= {self.longest} AND {super().passes(site)}"


class Uuid(TextFormat):
    """The text is a UUID in its usual form with hyphens."""

    name: ClassVar[str] = "uuid"
    words: ClassVar[str] = "a UUID"
    form: ClassVar[str] = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    example: ClassVar[str] = """
        id: event_id_is_a_uuid
        check: uuid
        column: event_id
    """


class Url(TextFormat):
    """The text is an absolute web address."""

    name: ClassVar[str] = "url"
    example: ClassVar[str] = """
        id: homepage_valid
        check: url
        column: homepage
        schemes: [https]
    """

    schemes: tuple[str, ...] = Field(default=("http", "https"), min_length=1)
    """The schemes allowed."""

    @field_validator("schemes")
    @classmethod
    def _schemes_are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for scheme in value:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
                raise ValueError(f"{scheme!r} is not a scheme; expected a name such as https")
        return value

    def passes(self, site: Site) -> str:
        schemes = "|".join(re.escape(scheme) for scheme in self.schemes)
        host = rf"(?:(?:[\p{{L}}\p{{N}}_-]{{1,63}}\.){{0,30}}[\p{{L}}\p{{N}}-]{{1,63}}\.?|\[{_ipv6()}\])"
        rest = r"(?::[0-9]{1,5})?(?:[/?#][^\p{Z}\p{C}<>\"]*)?"
        return sql.matches_whole(text_of(site), f"(?:(?i)(?:{schemes}))://{host}{rest}")

    def expects(self) -> str:
        return f"a URL beginning with {' or '.join(f'{scheme}://' for scheme in self.schemes)}"

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["schemes"])


class Ipv4(TextFormat):
    """The text is an IPv4 address: four numbers up to 255, without leading zeros."""

    name: ClassVar[str] = "ipv4"
    words: ClassVar[str] = "an IPv4 address"
    form: ClassVar[str] = _IPV4
    example: ClassVar[str] = """
        id: client_address
        check: ipv4
        column: client_ip
    """


class Ipv6(TextFormat):
    """The text is an IPv6 address, in full or shortened by ::."""

    name: ClassVar[str] = "ipv6"
    words: ClassVar[str] = "an IPv6 address"
    form: ClassVar[str] = _ipv6()
    example: ClassVar[str] = """
        id: client_address_v6
        check: ipv6
        column: client_ip
    """


class Iban(TextFormat):
    """The text is an IBAN: a country that has them, its length, and check digits that fit (mod 97)."""

    name: ClassVar[str] = "iban"
    words: ClassVar[str] = "an IBAN with valid check digits"
    example: ClassVar[str] = """
        id: iban_valid
        check: iban
        column: iban
    """

    spaces: bool = False
    """True: blanks between the groups, as in print, do not matter."""

    def passes(self, site: Site) -> str:
        text = text_of(site)
        return iban_holds(f"replace({text}, ' ', '')" if self.spaces else text)


class Bic(TextFormat):
    """The text is a BIC (SWIFT code) of 8 or 11 characters with a country that exists."""

    name: ClassVar[str] = "bic"
    words: ClassVar[str] = "a BIC of 8 or 11 characters"
    form: ClassVar[str] = "[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?"
    example: ClassVar[str] = """
        id: bic_valid
        check: bic
        column: bank_bic
    """

    def passes(self, site: Site) -> str:
        countries = sql.literals((*COUNTRIES_ALPHA2, "XK"), "string")
        return f"{super().passes(site)} AND substr({text_of(site)}, 5, 2) IN ({countries})"


class Luhn(TextFormat):
    """The text is a number whose last digit is the right check digit (Luhn), such as a card number."""

    name: ClassVar[str] = "luhn"
    words: ClassVar[str] = "digits with a valid check digit (Luhn)"
    form: ClassVar[str] = "[0-9]{2,}"
    example: ClassVar[str] = """
        id: card_number_valid
        check: luhn
        column: card_number
        separators: true
    """

    separators: bool = False
    """True: blanks and hyphens between the digits do not matter."""

    def passes(self, site: Site) -> str:
        text = text_of(site)
        digits = f"translate({text}, ' -', '')" if self.separators else text
        return f"{sql.matches_whole(digits, self.form)} AND {luhn_holds(digits)}"


class _CodeList(TextFormat):
    """A format that is a list of codes."""

    also: tuple[str, ...] = ()
    """Further codes to accept, such as XK or a code of old."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the standard."""
        raise NotImplementedError

    def passes(self, site: Site) -> str:
        return f"{text_of(site)} IN ({sql.literals(dict.fromkeys((*self.codes, *self.also)), 'string')})"

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["also"])


class IsoCountry(_CodeList):
    """The text is a country code of ISO 3166-1."""

    name: ClassVar[str] = "iso_country"
    example: ClassVar[str] = """
        id: country_known
        check: iso_country
        column: country
    """

    letters: Literal["alpha2", "alpha3"] = "alpha2"
    """alpha2 for codes such as AE, alpha3 for codes such as ARE."""

    @property
    def codes(self) -> tuple[str, ...]:
        return COUNTRIES_ALPHA2 if self.letters == "alpha2" else COUNTRIES_ALPHA3

    def expects(self) -> str:
        return f"a country code of {2 if self.letters == 'alpha2' else 3} letters (ISO 3166-1)"


class IsoCurrency(_CodeList):
    """The text is a currency code of ISO 4217 that is in use."""

    name: ClassVar[str] = "iso_currency"
    words: ClassVar[str] = "a currency code (ISO 4217)"
    example: ClassVar[str] = """
        id: currency_known
        check: iso_currency
        column: currency
        also: [HRK, BGN]
    """

    @property
    def codes(self) -> tuple[str, ...]:
        return CURRENCIES


class PhoneE164(TextFormat):
    """The text is a telephone number in international form: + and 7 to 15 digits, nothing else."""

    name: ClassVar[str] = "phone_e164"
    words: ClassVar[str] = "a telephone number such as +971501234567 (E.164)"
    form: ClassVar[str] = r"\+[1-9][0-9]{6,14}"
    example: ClassVar[str] = """
        id: phone_valid
        check: phone_e164
        column: phone
    """


class Json(TextFormat):
    """The text is valid JSON, nothing before or after it; a key may not occur twice in an object."""

    name: ClassVar[str] = "json"
    words: ClassVar[str] = "valid JSON"
    example: ClassVar[str] = """
        id: payload_is_json
        check: json
        column: payload
    """
    note: ClassVar[str] = "Parses every value; texts above 16 MB fail."

    _MARK: ClassVar[str] = "lz:end of value"

    def passes(self, site: Site) -> str:
        # Spark's parser ignores whatever follows the first value ('1 2', '{} x'). As an element of an array,
        # with a mark after it, the text cannot hide a rest: it must be one element, and the mark the next.
        wrapped = f"concat('[', {text_of(site)}, ',\"{self._MARK}\"]')"
        marked = f"try_variant_get(try_parse_json({wrapped}), '$[1]', 'string') = '{self._MARK}'"
        return sql.decided(site.value, f"coalesce({marked}, false)")
