"""Loading suites: from files to models, with every problem of every file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path, PurePath

from lazaretto.config import codes
from lazaretto.config.codes import Level
from lazaretto.config.corrections import FOLDER as CORRECTIONS
from lazaretto.config.corrections import WrittenCorrections, datasets_in, rule_ids
from lazaretto.config.entities import suites_in
from lazaretto.config.lint import lint
from lazaretto.config.own_checks import load_checks
from lazaretto.config.policies import FOLDER as POLICIES
from lazaretto.config.policies import WrittenPolicy, note_unknown, policy_files, read_policy
from lazaretto.config.presets import SUFFIXES, Presets, confined
from lazaretto.config.problems import Problem, Problems, config_error, display_path
from lazaretto.config.project import FILE, Project, find_root, read_project
from lazaretto.config.substitution import Substitution, Variables
from lazaretto.config.suite_builder import build_suite
from lazaretto.config.yaml_reader import read_file
from lazaretto.config.yaml_tree import Node
from lazaretto.model.catalogue import nearest
from lazaretto.model.correction import CorrectionSet
from lazaretto.model.policy import BUILT_IN
from lazaretto.model.suite import Suite
from lazaretto.model.values import Location


@dataclass(frozen=True)
class LoadResult:
    """The suites that are sound, and all that was found wrong or suspicious, by file and line."""

    suites: tuple[Suite, ...]
    problems: tuple[Problem, ...]
    project: Project | None = None
    files: tuple[str, ...] = ()
    policies: tuple[WrittenPolicy, ...] = ()
    corrections: tuple[CorrectionSet, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What must be mended."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What should be looked at."""
        return tuple(problem for problem in self.problems if problem.level is Level.WARNING)

    def raise_errors(self) -> None:
        """Raise ConfigError with all errors, if there are any."""
        if self.errors:
            raise config_error(self.errors)


def load_suite(
    path: str | Path,
    env: str | None = None,
    project: Project | str | Path | None = None,
    name: str | None = None,
) -> Suite:
    """The suite in a file, or the one of this name where the file holds several. Raises ConfigError."""
    result = load_suites([path], env, project)
    result.raise_errors()
    if name is None and len(result.suites) == 1:
        return result.suites[0]
    return _named(result, name, str(path))


def suite_named(name: str, env: str | None = None, project: Project | str | Path | None = None) -> Suite:
    """The suite of this name in a project; mistakes in other suites do not matter. Raises ConfigError."""
    result = load_suites(None, env, project)
    if not any(suite.suite == name for suite in result.suites):
        result.raise_errors()
    return _named(result, name, "the project")


def _named(result: LoadResult, name: str | None, where: str) -> Suite:
    for suite in result.suites:
        if suite.suite == name:
            return suite
    known = sorted(suite.suite for suite in result.suites)
    problems = Problems()
    close = nearest(name, known) if name else None
    message = f"there is no suite {name!r} in {where}" if name else f"{where} holds {len(known)} suites"
    hint = f"did you mean {close}?" if close else "say which by its name"
    problems.add(codes.SEVERAL_SUITES, None, message, expected=f"one of {', '.join(known)}", hint=hint)
    raise config_error(problems.found)


def load_suites(
    paths: Iterable[str | Path] | str | Path | None = None,
    env: str | None = None,
    project: Project | str | Path | None = None,
    today: date | None = None,
) -> LoadResult:
    """All suites of a project, or of the files and folders named. Problems are collected, not raised."""
    loader = _Loader(env if env is not None or not isinstance(project, Project) else project.env, project)
    if paths is None:
        loader.take_project()
    else:
        for path in [paths] if isinstance(paths, str | Path) else paths:
            loader.take(Path(path).absolute())
    return loader.finish(today or datetime.now(UTC).date())


@dataclass
class _Home:
    """A folder that suites belong to: a project's, or that of a lone file."""

    root: Path
    presets: Presets
    variables: Variables | None
    project: Project | None


@dataclass
class _Loader:
    env: str | None
    project: Project | str | Path | None
    problems: Problems = field(default_factory=Problems)
    homes: dict[Path, _Home] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)
    suites: list[tuple[Suite, Node]] = field(default_factory=list)
    guessed: list[Suite] = field(default_factory=list)
    """Suites with mistakes, read as they were probably meant, so that everything else wrong with them is found too."""
    named: dict[tuple[Path, str], Location] = field(default_factory=dict)
    policies: list[WrittenPolicy] = field(default_factory=list)
    guarded: dict[str, set[str]] = field(default_factory=dict)
    corrections: WrittenCorrections = field(init=False)

    def __post_init__(self) -> None:
        self.corrections = WrittenCorrections(self.problems)

    def take_project(self) -> None:
        """Every suite of the project."""
        root = self._given_root() or find_root(Path.cwd())
        if root is None or not (root / FILE).is_file():
            place = f"in {root}" if root else "here or in a folder above"
            hint = "`lazaretto init DIR` makes a project; or name the files"
            self.problems.add(codes.NO_PROJECT, None, f"there is no {FILE} {place}", hint=hint)
            return
        home = self._home(root)
        if not self._take_folder(root / "suites", root):
            at = Location(display_path(root / FILE, root), 1, 1)
            self.problems.add(codes.NO_SUITES, at, "the project has no suites", expected="suites/*.yml")
        for path in _files_in(root / CORRECTIONS):
            self._take_corrections(path, root)
        home.presets.read_unused()
        self._take_policies(home)

    def take(self, path: Path) -> None:
        """A file, a folder of them, or a project's folder."""
        root = self._given_root() or find_root(path if path.is_dir() else path.parent)
        if root is not None and path.parent == root / POLICIES:
            self._take_policy(path, root)
        elif root is not None and root / CORRECTIONS in (path, *path.parents):
            for file in _files_in(path):
                self._take_corrections(file, root)
            self.guarded |= _guarded_by(root, self.env)
        elif not path.is_dir():
            self._take_file(path, root or path.parent)
        elif root is not None and path == root:
            self.project = root if self.project is None else self.project
            self.take_project()
        elif not self._take_folder(path, root or path):
            self.problems.add(
                codes.NO_SUITES, None, f"there is no suite in {display_path(path)}", expected="*.yml files"
            )

    def _take_policies(self, home: _Home) -> None:
        files = policy_files(home.root)
        for path in files.values():
            self._take_policy(path, home.root)
        chosen = home.project.policy if home.project is not None else None
        if chosen is not None and chosen not in (*files, BUILT_IN.name):
            note_unknown(chosen, list(files), Location(display_path(home.root / FILE, home.root), 1, 1), self.problems)

    def _take_policy(self, path: Path, root: Path) -> None:
        self.files[path] = display_path(path, root)
        if written := read_policy(path, root, self.problems):
            self.policies.append(written)

    def _given_root(self) -> Path | None:
        if self.project is None:
            return None
        return self.project.folder if isinstance(self.project, Project) else Path(self.project).absolute()

    def _take_folder(self, folder: Path, root: Path) -> bool:
        found = _files_in(folder)
        for path in found:
            self._take_file(path, root)
        return bool(found)

    def _home(self, root: Path) -> _Home:
        if root in self.homes:
            return self.homes[root]
        variables: Variables | None = {}
        project: Project | None = None
        if isinstance(self.project, Project) and self.env == self.project.env:
            project, variables = self.project, self.project.variables()
        elif (root / FILE).is_file():
            project, variables = read_project(root, self.env, self.problems)
        elif self.env is not None:
            message = f"there is no environment {self.env!r}: the file belongs to no project"
            self.problems.add(codes.UNKNOWN_ENVIRONMENT, None, message, expected=f"a {FILE} in a folder above")
            variables = None
        load_checks(root if project is not None else None, self.problems)
        self.homes[root] = _Home(root, Presets(root, self.problems), variables, project)
        return self.homes[root]

    def _read(self, path: Path, root: Path, example: str) -> tuple[_Home, Node] | None:
        """The tree of a file that was not read yet, and its home."""
        if path in self.files:
            return None
        home = self._home(root)
        shown = display_path(path, root)
        self.files[path] = shown
        if not confined(path, root):
            message = f"is outside the project's folder {display_path(root)}"
            self.problems.add(codes.OUTSIDE, Location(shown, 1, 1), message, hint="copy it into the project")
            return None
        tree = read_file(path, shown, self.problems)
        if tree is None:
            return None
        if not tree.is_mapping:
            message = f"the file is {tree.kind}"
            self.problems.add(codes.NOT_A_MAPPING, tree.location, message, expected=example)
            return None
        return home, tree

    def _substitution(self, home: _Home) -> Substitution:
        return Substitution(home.variables or {}, self.problems, self.env, lenient=home.variables is None)

    def _take_file(self, path: Path, root: Path) -> None:
        before = len(self.problems.errors)
        found = self._read(path, root, "the keys of a suite, such as `suite: name`")
        if found is None:
            return
        home, tree = found
        substitution = self._substitution(home)
        nodes = suites_in(tree, self.problems)
        readable = len(self.problems.errors) == before
        for node in nodes:
            known = len(self.problems.errors)
            merged = substitution.apply(home.presets.apply(node))
            self._note_name(merged, root)
            self.guarded.setdefault(merged.at(("asset",)).text or "", set()).update(rule_ids(merged))
            home_root = PurePath(root) if (root / FILE).is_file() else None
            suite = build_suite(merged, home_root, self.env, self.problems)
            if suite is not None and readable and home.presets.sound(node):
                self.suites.append((suite, merged))
                if len(self.problems.errors) > known:
                    self.guessed.append(suite)

    def _take_corrections(self, path: Path, root: Path) -> None:
        found = self._read(path, root, "the keys of a correction file, such as `asset: schema.table`")
        if found is None:
            return
        home, tree = found
        substitution = self._substitution(home)
        for node in datasets_in(tree, self.problems):
            self.corrections.take(substitution.apply(home.presets.apply(node)), root)

    def _note_name(self, node: Node, root: Path) -> None:
        named = node.get("suite")
        if named is None or not named.text:
            return
        first = self.named.setdefault((root, named.text), named.location)
        if first is not named.location:
            message = f"the suite {named.shown} exists already, in {first.file}:{first.line}"
            self.problems.add(codes.DUPLICATE_SUITE, named.place, message, hint="give it a name of its own")

    def finish(self, today: date) -> LoadResult:
        """Look for what is legal but suspicious, and put everything in order."""
        for suite, node in self.suites:
            self.problems.extend(lint(suite, today, node))
        self.corrections.compare(self.guarded)
        clashing = {p.location for p in self.problems.found if p.code == codes.DUPLICATE_SUITE}
        certain = [(suite, node) for suite, node in self.suites if not any(suite is each for each in self.guessed)]
        sound = [suite for suite, node in certain if not clashing & {node.at(("suite",)).place}]
        project = next((home.project for home in self.homes.values() if home.project is not None), None)
        files = tuple(self.files.values())
        corrections = self.corrections.sound()
        return LoadResult(tuple(sound), self.problems.sorted(), project, files, tuple(self.policies), corrections)


def _files_in(path: Path) -> list[Path]:
    if path.suffix in SUFFIXES and not path.is_dir():
        return [path]
    return sorted(p for p in path.glob("**/*") if p.suffix in SUFFIXES and (p.is_file() or p.is_symlink()))


def _guarded_by(root: Path, env: str | None) -> dict[str, set[str]]:
    """What the suites of a project guard, whatever is wrong with them: that is told when they are looked at."""
    loader = _Loader(env, root)
    loader.take_project()
    return loader.guarded
