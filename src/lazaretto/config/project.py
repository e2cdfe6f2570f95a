"""lazaretto.yml: the name of a project, where its tables and store are, what its environments mean."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lazaretto.config import codes
from lazaretto.config.problems import Problems, config_error, display_path
from lazaretto.config.substitution import Substitution, Variables
from lazaretto.config.validation import build
from lazaretto.config.yaml_reader import read_file
from lazaretto.config.yaml_tree import Node
from lazaretto.config.yaml_tree import Path as TreePath
from lazaretto.model.catalogue import nearest
from lazaretto.model.units import DurationField, SizeField
from lazaretto.model.values import Location

FILE = "lazaretto.yml"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")


TableName = Annotated[str, Field(pattern=r"^[^\s./]+(\.[^\s./]+){1,2}$")]


class Tables(BaseModel):
    """Names of Lazaretto's own tables."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    schema_: str = Field(default="quarantine", alias="schema", min_length=1)
    """Schema of the quarantine tables (`quarantine.records`, `quarantine.outbox`, …)."""
    archive: str | None = None
    """Folder of the archive, where it is not beside the other tables."""


class Tokens(BaseModel):
    """How tokens are verified that say who somebody is (LAZARETTO_TOKEN)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    key: str | None = None
    """The key they are signed with (HS256), as ${secret:scope/key}; at least 32 characters."""
    issuer: str | None = None
    """Who has to have issued them (`iss`)."""


class Exports(BaseModel):
    """Delta tables that every run adds to when it ends; what is not named is exported on demand only."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    checks: TableName | None = None
    """Table for the rules of the suite, as schema.table."""
    metrics: TableName | None = None
    """Table for the summary metrics of the batch, as schema.table."""


class Retention(BaseModel):
    """How long quarantined records stay where they are worked on."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    closed_after: DurationField = timedelta(days=90)
    """Age from which recovered and rejected records go to the archive."""
    open_after: DurationField | None = None
    """Age from which open records go there too; left out: never."""


class Project(BaseModel):
    """A project: the folder that holds lazaretto.yml, and what that says."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    project: str = Field(min_length=1)
    """Name of the project."""
    lake: str = "./lake"
    """Folder (or URL) of the tables: schema.table lives in lake/schema/table."""
    store: str = "sqlite:///.lazaretto/control.db"
    """URL of the control store: sqlite:///FILE or postgresql+psycopg://…; secrets as ${secret:scope/key}."""
    catalog: str | None = None
    """Set it and table names go to Spark's catalog as they are, instead of to folders under `lake`."""
    checkpoints: str | None = None
    """Folder (or URL) of the checkpoints of streams, one for each suite and source; else beside the quarantine."""
    tables: Tables = Tables()
    """Names of Lazaretto's own tables."""
    exports: Exports = Exports()
    """Delta tables that every run adds its checks and summary metrics to."""
    retention: Retention = Retention()
    """When `lazaretto retention` moves quarantined records to the archive."""
    may_see: tuple[str, ...] = ()
    """Users of the operating system who may ask for sensitive values of quarantined records (`--reveal`)."""
    broadcast_below: SizeField = 64 * 2**20
    """Reference tables up to this size are sent to every worker instead of being shuffled."""
    policy: str | None = None
    """Name of the policy (policies/NAME.yml) that decides about publication."""
    reject_reasons: tuple[str, ...] = ("DUPLICATE", "INVALID_AT_SOURCE", "NOT_NEEDED", "TEST_DATA")
    """Codes one of which has to be given when a quarantined record is rejected for good."""
    tokens: Tokens = Tokens()
    """How tokens are verified that say who approves."""
    alerts: dict[str, Any] = Field(default_factory=dict)
    """Where alerts go; secrets as ${secret:scope/key}."""
    environments: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What ${name} means under `--env`: environment → name → value."""
    root: PurePath = Field(default=PurePath(), exclude=True, repr=False)
    env: str | None = Field(default=None, exclude=True)
    location: Location | None = Field(default=None, exclude=True, repr=False)

    @field_validator("environments")
    @classmethod
    def _plain_values(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for environment, variables in value.items():
            for name, meaning in variables.items():
                if not _VARIABLE.match(name):
                    raise ValueError(f"{name!r} of {environment} is not a name that ${{...}} could have")
                parts = meaning if isinstance(meaning, list) else [meaning]
                if not all(isinstance(part, str | bool | int | Decimal) for part in parts):
                    raise ValueError(f"`{name}` of {environment} must be a single value or a list of them")
        return value

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return Path(self.root)

    @property
    def lake_root(self) -> str:
        """The lake as an absolute path or URL."""
        return self.lake if "://" in self.lake else str((self.folder / self.lake).resolve())

    @property
    def archive_root(self) -> str:
        """Folder of the archive."""
        place = self.tables.archive
        if place is None:
            return f"{self.lake_root}/{self.tables.schema_}/archive"
        return place if "://" in place else str((self.folder / place).resolve())

    @property
    def checkpoints_root(self) -> str:
        """Folder of the checkpoints, absolute."""
        if self.checkpoints is None:
            return f"{self.lake_root}/{self.tables.schema_}/checkpoints"
        return self.checkpoints if "://" in self.checkpoints else str((self.folder / self.checkpoints).resolve())

    @property
    def store_url(self) -> str:
        """The store's URL with a relative SQLite file made absolute; secrets are still names."""
        prefix, relative = "sqlite:///", self.store.removeprefix("sqlite:///")
        if not self.store.startswith(prefix) or relative in ("", ":memory:"):
            return self.store
        return prefix + str(self.folder / relative)

    def variables(self, env: str | None = None) -> dict[str, Any]:
        """What `${name}` means in an environment; the project's own if none is named."""
        chosen = env or self.env
        if chosen is None:
            return {}
        if chosen not in self.environments:
            problems = Problems()
            note_unknown_environment(chosen, list(self.environments), self.location, problems)
            raise config_error(problems.found)
        return dict(self.environments[chosen])


def find_root(start: Path) -> Path | None:
    """The nearest folder with a lazaretto.yml, from here upwards."""
    folder = start.absolute()
    return next((place for place in (folder, *folder.parents) if (place / FILE).is_file()), None)


def load_project(directory: str | PurePath | None = None, env: str | None = None) -> Project:
    """The project in this folder, or the one around the working folder. Raises ConfigError."""
    problems = Problems()
    root = find_root(Path.cwd()) if directory is None else Path(directory).absolute()
    if root is None or not (root / FILE).is_file():
        place = f"in {directory}" if directory is not None else "here or in a folder above"
        problems.add(codes.NO_PROJECT, None, f"there is no {FILE} {place}", hint="`lazaretto init DIR` makes a project")
        raise config_error(problems.found)
    project, _ = read_project(root, env, problems)
    problems.raise_errors()
    if project is None:  # pragma: no cover - without a project there is an error
        raise config_error(problems.found)
    return project


def read_project(root: Path, env: str | None, problems: Problems) -> tuple[Project | None, Variables | None]:
    """A project and the variables of an environment. Either is None if it cannot be had; why is noted."""
    path = root / FILE
    shown = display_path(path, root)
    node = read_file(path, shown, problems)
    if node is None:
        return None, None
    if not node.is_mapping:
        problems.add(codes.NOT_A_MAPPING, node.location, f"a project is {node.kind}", expected="keys and values")
        return None, None
    variables: Variables | None = {}
    environments = node.get("environments")
    if environments is not None:
        environments = Substitution({}, problems, secret_allowed=lambda path: False).apply(environments)
        node = node.with_entries(node.entries | {"environments": environments})
    if env is not None:
        variables = _variables(environments, env, node, problems)
    node = _substituted(node, variables, env, problems)
    extra = {"root": PurePath(root), "env": env, "location": node.location}
    return build(Project, node, problems, "the project", **extra), variables


def note_unknown_environment(env: str, known: list[str], location: Location | None, problems: Problems) -> None:
    """Say which environments there are."""
    expected = f"one of {', '.join(sorted(known))}" if known else f"`environments` in {FILE}"
    close = nearest(env, known)
    hint = f"did you mean {close}?" if close else None
    problems.add(codes.UNKNOWN_ENVIRONMENT, location, f"there is no environment {env!r}", expected=expected, hint=hint)


def _variables(environments: Node | None, env: str, node: Node, problems: Problems) -> Variables | None:
    known = environments.entries if environments is not None else {}
    if env not in known:
        place = environments.key_location if environments is not None else node.location
        note_unknown_environment(env, list(known), place, problems)
        return None
    chosen = known[env]
    return {name: child.plain() for name, child in chosen.entries.items() if not child.unresolved}


def _substituted(node: Node, variables: Variables | None, env: str | None, problems: Problems) -> Node:
    def secret_allowed(path: TreePath) -> bool:
        return path[0] in ("store", "alerts") or path == ("tokens", "key")

    substitution = Substitution(
        variables or {}, problems, environment=env, secret_allowed=secret_allowed, lenient=variables is None
    )
    rest = {
        key: child if key == "environments" else substitution.apply(child, (key,))
        for key, child in node.entries.items()
    }
    return node.with_entries(rest)
