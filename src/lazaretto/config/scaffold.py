"""`lazaretto init`: a small project, commented, that validates as it is."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

from lazaretto.config import codes
from lazaretto.config.problems import Problems

_FILES = {
    "lazaretto.yml": "lazaretto.yml",
    "suites/transactions.yml": "transactions.yml",
    "corrections/transactions.yml": "corrections.yml",
    "presets/common.yml": "common.yml",
    "checks/weekday.py": "weekday.py.txt",  # not named .py here: it is text of ours, not code of ours
    ".gitignore": "gitignore",
}
SUITE_SCHEMA = ".lazaretto/suite.schema.json"
CORRECTIONS_SCHEMA = ".lazaretto/corrections.schema.json"
PROJECT_SCHEMA = ".lazaretto/project.schema.json"


def init(directory: str | Path) -> tuple[Path, ...]:
    """Write a new project into a folder and return the files; nothing that exists is overwritten."""
    folder = Path(directory)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.resolve().name).strip("-.") or "project"
    texts = {target: _template(source).replace("@PROJECT@", name) for target, source in _FILES.items()}
    _refuse_overwriting(folder, list(texts))
    written = [_write(folder / target, text) for target, text in texts.items()]
    return (*written, *write_schemas(folder))


def write_schemas(folder: Path) -> tuple[Path, ...]:
    """Write the schemas that editors read; the project's own checks are in them."""
    from lazaretto.config.json_schema import corrections_schema, json_schema, project_schema
    from lazaretto.config.own_checks import load_checks

    load_checks(folder.absolute(), Problems())  # what is wrong with a check is for `validate` to say
    schemas = {
        SUITE_SCHEMA: json_schema(),
        CORRECTIONS_SCHEMA: corrections_schema(),
        PROJECT_SCHEMA: project_schema(),
    }
    return tuple(_write(folder / target, json.dumps(schema, indent=1) + "\n") for target, schema in schemas.items())


def _refuse_overwriting(folder: Path, targets: list[str]) -> None:
    problems = Problems()
    if folder.exists() and not folder.is_dir():
        problems.add(codes.IN_THE_WAY, None, f"{folder} is a file", hint="choose a folder")
    elif taken := [target for target in targets if (folder / target).exists()]:
        message = f"{folder} has already {', '.join(taken)}"
        problems.add(codes.IN_THE_WAY, None, message, hint="choose another folder, or move them away")
    problems.raise_errors()


def _template(name: str) -> str:
    return (resources.files("lazaretto.config") / "templates" / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
