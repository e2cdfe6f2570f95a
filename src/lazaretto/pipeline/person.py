"""Who someone is: whom a verified token names (authenticated), or else the operating system's user (asserted)."""

from __future__ import annotations

import getpass
import os
import sys
import time
from dataclasses import dataclass
from typing import Literal

from lazaretto.config.project import Project
from lazaretto.config.secrets import resolve
from lazaretto.model.errors import LazarettoError
from lazaretto.model.policy import Policy
from lazaretto.pipeline.token import TokenRefused, subject

TOKEN = "LAZARETTO_TOKEN"
"""Environment variable with the token of who runs a command."""


class FourEyes(LazarettoError):
    """One person cannot both ask and approve."""


class NotAuthenticated(LazarettoError):
    """The policy wants to be surer of who approves."""


@dataclass(frozen=True)
class Person:
    """Somebody, and how sure we are of it."""

    name: str
    assurance: Literal["asserted", "authenticated"] = "asserted"

    def see_four_eyes(self, asked: str, what: str) -> None:
        """Refuse to let somebody approve what they asked for themselves."""
        if not asked:
            raise FourEyes(f"nobody is on record as having asked to {what}: say who did with --requested-by")
        if asked == self.name:
            raise FourEyes(
                f"{self.name} asked to {what} and cannot approve it as well: a second person has to run this command "
                "(or, if somebody else asked, name them with --requested-by)"
            )

    def see_assurance(self, policy: Policy, what: str) -> None:
        """Refuse an approval that the policy would not count."""
        if not policy.takes(self.assurance):
            raise NotAuthenticated(
                f"the policy {policy.name} wants to know for certain who approves to {what}; that this is {self.name} "
                f"is only asserted: put a token in {TOKEN}"
            )


def os_user() -> str:
    """The user this process runs as; the environment is not asked where the system knows."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run as a number without a name
        return f"uid {os.getuid()}"


def here(project: Project | None = None) -> Person:
    """Who runs this process. A token that does not prove it is an error, and never passed over in silence."""
    token = os.environ.get(TOKEN, "").strip()
    if project is None or not token:
        return Person(os_user())
    if not project.tokens.key:
        raise TokenRefused(f"{TOKEN} is set, but lazaretto.yml has no `tokens: {{key: …}}` to verify it with")
    name = subject(token, resolve(project.tokens.key).reveal(), now=time.time(), issuer=project.tokens.issuer)
    return Person(name, "authenticated")
