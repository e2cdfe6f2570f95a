"""Every mistake a configuration can have, in one place: the code, what it means, and what to do.

Codes are stable: a code is never given another meaning, and a retired one is not used again.
001-019 the file, 020-029 the project around it, 030-039 presets, 040-059 keys and values, 060-069 policies,
070-079 corrections, 101-: warnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How serious a problem is: an error stops everything, a warning is legal but suspicious."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Entry:
    """One kind of problem."""

    code: str
    title: str
    explanation: str

    @property
    def level(self) -> Level:
        """Codes from 101 on are warnings."""
        return Level.WARNING if int(self.code[-3:]) > 100 else Level.ERROR


_ENTRIES: dict[str, Entry] = {}


def _entry(number: int, title: str, explanation: str) -> str:
    code = f"LZ-CFG-{number:03d}"
    if code in _ENTRIES:
        raise ValueError(f"{code} is taken")
    _ENTRIES[code] = Entry(code, title, explanation)
    return code


# The file
UNREADABLE = _entry(
    1,
    "The file cannot be read",
    "It is missing, is a folder, or may not be opened. Check the path and its rights.",
)
TOO_LARGE = _entry(
    2,
    "The file is too large",
    "A configuration file has at most 1 MiB. Split it, or move long lists to a reference table.",
)
NOT_UTF8 = _entry(3, "The file is not UTF-8 text", "Save it as UTF-8; editors offer that under 'encoding'.")
EMPTY = _entry(
    4,
    "The file is empty",
    "There is nothing but white space or comments in it. `lazaretto init` shows an example.",
)
SYNTAX = _entry(
    5,
    "The file is not YAML",
    "The reader stopped at this place; the mistake is there or just before it. Mostly it is "
    "indentation, a tab, an "
    "unclosed quote or bracket, or a ':' inside text that needs quotes.",
)
DUPLICATE_KEY = _entry(
    6,
    "A key is given twice",
    "Only one of the two values could count, so neither does. Remove one, or merge them.",
)
MERGE_KEY = _entry(
    7,
    "Merge keys are not read",
    "`<<` is not part of YAML 1.2. Put what is shared into presets/NAME.yml and use `extends`.",
)
BAD_KEY = _entry(8, "This cannot be a key", "A key is a plain word: not empty, not a list and not a mapping.")
ALIASES = _entry(
    9,
    "An alias cannot be used so",
    "An alias (*name) must follow its anchor (&name), may not contain itself, and aliases may "
    "not multiply the file beyond "
    "reason (100 aliases, 50,000 values after expansion). Prefer presets.",
)
TOO_DEEP = _entry(10, "Nested too deeply", "A configuration file has at most 50 levels.")
TAG = _entry(
    11,
    "Tags are not read",
    "`!tag` and `!!type` have no meaning here: write the plain value. Quotes make it text.",
)
SEVERAL_DOCUMENTS = _entry(
    12,
    "Several documents in one file",
    "Only one YAML document is read. Remove the `---`, or make it two files.",
)
NUMBER = _entry(
    13,
    "The number is out of range",
    "Numbers have at most 38 digits and exponents up to 400. Quote it if it is text.",
)
NOT_A_MAPPING = _entry(14, "Expected keys and values", "The file must be a mapping at its top, such as `suite: name`.")
OUTSIDE = _entry(
    15,
    "Outside the project's folder",
    "Suites, presets and checks are read from the project's folder only, after links are "
    "resolved. Copy the file into it.",
)
NO_VALUE = _entry(
    16,
    "A key without a value",
    "Nothing follows the colon. Give a value, or remove the key; `null` says 'as if not written'.",
)
BAD_TEXT = _entry(
    17, "Text that cannot be stored", "It has half of a surrogate pair, which is no character. Remove it."
)

# The project around it
NO_PROJECT = _entry(
    20,
    "No project here",
    "No lazaretto.yml was found in this folder or above it. `lazaretto init DIR` makes one.",
)
UNKNOWN_ENVIRONMENT = _entry(
    21,
    "Unknown environment",
    "The name given by `--env` must be listed under `environments` of lazaretto.yml.",
)
UNRESOLVED = _entry(
    22,
    "A variable has no value",
    "`${name}` must be defined for the chosen environment in lazaretto.yml, or have a default: `${name:-default}`.",
)
NO_ENVIRONMENT_VARIABLE = _entry(
    23, "An environment variable is not set", "Set it before the command, or write `${env:NAME:-default}`."
)
BAD_REFERENCE = _entry(
    24,
    "A reference is misspelled",
    "Written are `${name}`, `${name:-default}`, `${env:NAME}` and `${secret:scope/key}`; `$${` stands for `${` itself.",
)
SECRET_HERE = _entry(
    25,
    "A secret does not belong here",
    "Secrets may stand in the `options` of a source or a reference, in `payload: key` and in the project's `store` "
    "and `alerts`. Anywhere "
    "else they would end up in plans, results and stored text.",
)
NOT_TEXT = _entry(26, "A list cannot stand inside text", "A variable that is a list must be the whole value.")
OWN_CHECK = _entry(
    27,
    "A check of the project cannot be loaded",
    "Python stopped while importing it; the message says where and why.",
)
NO_SUITES = _entry(28, "No suites found", "A project keeps them in suites/*.yml; or name the files.")
IN_THE_WAY = _entry(
    29, "Files are in the way", "`lazaretto init` overwrites nothing. Choose an empty folder, or move them."
)

# Presets
NO_PRESET = _entry(30, "Unknown preset", "`extends: NAME` reads presets/NAME.yml of the project.")
PRESET_CYCLE = _entry(31, "Presets extend each other in a circle", "Take one `extends` of the circle out.")
BAD_EXTENDS = _entry(32, "`extends` names presets", "Write `extends: name` or `extends: [name, other]`.")

# Keys and values
UNKNOWN_KEY = _entry(
    40, "Unknown key", "Nothing reads this key, so it would have no effect. Correct its name or remove it."
)
OTHER_DIALECT = _entry(41, "A key or word of another tool", "Another quality tool calls it so; the message gives ours.")
MISSING_KEY = _entry(42, "A required key is missing", "Add it.")
UNKNOWN_CHECK = _entry(43, "Unknown check", "`lazaretto checks` lists all, with an example each.")
WRONG_KIND = _entry(
    44,
    "The wrong kind of value",
    "Text, a number, a list or a mapping was expected, and something else is here.",
)
UNKNOWN_WORD = _entry(45, "Not one of the words known here", "The value must be one of those listed.")
BAD_VALUE = _entry(
    46,
    "The value cannot be used",
    "It is of the right kind, but not in the form or within the limits demanded.",
)
EXPRESSION = _entry(
    47,
    "The expression is refused",
    "Expressions are checked before they reach Spark: one condition on the columns of a row, "
    "without subqueries, "
    "aggregates, windows, or functions that reach outside the data.",
)
CONTRADICTION = _entry(
    48,
    "Keys that do not fit together",
    "Each is right by itself, but not with the others. The message says why.",
)
DUPLICATE_RULE = _entry(
    49, "Two rules with one id", "Results are stored by rule id, so it must be unique in its suite."
)
DUPLICATE_SUITE = _entry(50, "Two suites with one name", "The name of a suite must be unique in the project.")
NO_ACTIVE_RULE = _entry(
    51,
    "No rule is active",
    "A suite that inspects nothing would certify everything. Activate a rule, or remove the suite.",
)
BAD_ENTITIES = _entry(
    52,
    "Entities are misshapen",
    "`entities` maps names to suites: shared keys stand above, each entity has its own below.",
)
SEVERAL_SUITES = _entry(53, "Which suite?", "Exactly one was expected; say which by its name.")

# Policies
NO_POLICY = _entry(60, "Unknown policy", "`policy: NAME` of lazaretto.yml reads policies/NAME.yml of the project.")
UNREACHABLE_ROW = _entry(
    61,
    "A row of a policy that never decides",
    "The first row that fits decides, and rows above take all its cases; or no such case can occur. Move it up, or "
    "remove it.",
)

# Corrections
UNKNOWN_TRANSFORMATION = _entry(
    70, "Unknown transformation", "docs/corrections.md lists all, with an example each. Correct the name."
)
DUPLICATE_CORRECTION = _entry(
    71,
    "Two corrections with one id",
    "What a correction did is counted by its id, so it must be unique in the project.",
)
UNKNOWN_RULE = _entry(
    72,
    "A correction for a rule that does not exist",
    "No record will ever have broken it. Name a rule of the suite that guards the asset, or a built-in one.",
)
UNKNOWN_ASSET = _entry(
    73,
    "A correction for a table that no suite guards",
    "Records of that table never come into the quarantine. Correct `asset`, or write the suite.",
)
SHADOWED_CORRECTION = _entry(
    74,
    "A correction that is never reached",
    "Of several corrections for one broken rule the first that can be applied wins; an earlier one has all records of "
    "this one and does the same with them.",
)

# Legal, but suspicious
SAME_RULE = _entry(101, "Two rules say the same", "Each failing row is reported twice. Remove one of the rules.")
ONE_VALUE = _entry(
    102,
    "A list with a single value",
    "`compare` says the same more clearly, or the list was left unfinished.",
)
IMPLIED = _entry(
    103,
    "A rule that adds nothing",
    "It can never fail, or only where another rule fails already. Remove it or sharpen it.",
)
LONG_INACTIVE = _entry(104, "Inactive for more than 90 days", "Switch it on again, or delete it: the history keeps it.")
NO_RUNBOOK = _entry(
    105,
    "A critical rule without a runbook",
    "Whoever is called at night needs to know what to do: add `runbook`.",
)
OBSERVE_EXPIRED = _entry(
    106,
    "`observe` has expired",
    "From its day on the rule warns. Decide what it should do: set another `on_fail`.",
)
INFO_BLOCKS = _entry(
    107,
    "Mild severity, hard action",
    "A rule of severity info holds back the whole batch. One of the two is not meant so.",
)
CONSTANT_WHERE = _entry(
    108,
    "A condition without a column",
    "`where` is the same for every row: the rule applies always or never.",
)
MIXED_BOUNDS = _entry(
    109, "Bounds of two kinds", "One bound is a number and the other text, so they are compared in two ways."
)

SILENT_POLICY = _entry(
    110,
    "A policy that does not know every case",
    "Where no row fits, the asset is closed (FAIL_CLOSED). If that is meant, say so in a last row.",
)
MILDER_FOR_WORSE = _entry(
    111,
    "Milder for something worse",
    "The policy does less about a case than about another one that is better by its severity, status, tier or "
    "consumers. Mostly the order of the rows is to blame.",
)


def entry(code: str) -> Entry:
    """What a code means."""
    return _ENTRIES[code]


def catalogue() -> tuple[Entry, ...]:
    """All entries, by code."""
    return tuple(_ENTRIES[code] for code in sorted(_ENTRIES))


def catalogue_markdown() -> str:
    """The catalogue as a page of the documentation."""
    lines = ["| code | level | what | what it means, and what to do |", "|---|---|---|---|"]
    lines += [f"| `{e.code}` | {e.level} | {e.title} | {_cell(e.explanation)} |" for e in catalogue()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
