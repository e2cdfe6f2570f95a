"""The control store of a project, for commands that need no Spark."""

from __future__ import annotations

from lazaretto.config.project import Project
from lazaretto.config.secrets import resolve
from lazaretto.store import Store, open_store


def open_project_store(project: Project, env: str | None, *, create: bool = True) -> Store:
    """The control store of a project. With `create=False` a missing SQLite file is an error."""
    return open_store(resolve(project.store_url).reveal(), environment=env or "default", create=create)
