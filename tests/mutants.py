"""`make mutants`: change a module in one small way at a time, and see whether its tests notice.

``python tests/mutants.py [MODULE...] [--sample N --seed S] [--write]``, with modules such as
``model/placement`` or ``policies/*``; without one, the core, the smallest first. mutmut makes
the mutants, runs each in a fork of one process that has imported the tests but run none (Polars'
threads do not outlive a fork), and ends one that hangs. All is in
build/mutants, a folder for each module, so that a run that was cut goes on. What was caught stays
caught until the module changes; survivors run again once their tests have changed.

A survivor that no test can tell from the original belongs into tests/mutants.toml, with the reason.
Exit status 1 where less than 90 % of a module is caught or explained.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "python" / "loomcard"
WORK = ROOT / "build" / "mutants"
EXPLAINED = ROOT / "tests" / "mutants.toml"
PAGE = ROOT / "docs" / "project" / "mutants.md"
TABLE = "<!-- begin: make mutants WRITE=1 -->\n", "<!-- end -->\n"

GOLDEN = "golden/replays.py"
CORE = ("model", "engine", "api", "wire", "policies/preempt", GOLDEN)
TESTS = {
    "model/*": CORE,
    "engine/*": CORE,
    "api/preempt/*": (*CORE, "policies/hdrf", "policies/capacity", "policies/test_fair.py"),
    "api/*": CORE,
    "results/*": ("results",),
    "config/limits": ("config",),
    "policies/*/paper": ("{folder}", GOLDEN),
}
"""The core, and the folders of its tests; mutmut uses those tests that reach a mutant. Journals are
written and replayed in those of wire, and the golden ones replayed, as in `make test`.
"""
WHOLE = (
    "guide_page", "reserve_attacks", "many_shapes", "attacks", "simulated", "life", "guarantees",
)  # fmt: skip
"""Files with tests that simulate whole clusters, for seconds each: left out."""
QUICK = "not slow and not docker and not cluster"
PLACED = (
    "test_sources_that_are_not_installed_say_so",
    "test_the_manifest_names_the_commit",
    "test_the_place_of_such_a_warning",
)
"""Tests that check where the sources are or who calls them, which is different here."""
SURVIVED = {0, 5, 33}
"""Exit codes of mutmut: all tests passed; pytest ran none; no test reaches the mutant."""
LEAST = 0.9
MEMORY_BYTES = 8 << 30
"""The most memory for a mutant, because some mutants grow a list without end."""
HANG_S = 120
"""How long one test may take before it has noticed the mutant: some mutants wait for ever. mutmut's
own limit is a multiple of the time of all tests that reach the function, which can be an hour.
"""
NOT_LINKED = {"python", "tests", "build", "pyproject.toml"}
SETTINGS = """[mutmut]
source_paths = src
only_mutate =
 {files}
pytest_add_cli_args_test_selection =
 -m
 {quick}
 -k
 {placed}
 {ignored}
 {tests}
pytest_add_cli_args =
 -p
 no:cacheprovider
 -W
 ignore::pytest.PytestUnraisableExceptionWarning
 -o
 faulthandler_timeout={hang_s}
 -o
 faulthandler_exit_on_timeout=true
process_isolation = forkserver
timeout_multiplier = 6
timeout_constant = 3
on_dependency_change = ignore
use_git_change_detection = false
"""


def modules(wanted: Iterable[str] = ("*",)) -> list[str]:
    """Return the modules of the core that match one of the patterns, the smallest first."""
    files = sorted(SOURCES.rglob("*.py"), key=lambda file: (file.stat().st_size, file))
    names = [str(f.relative_to(SOURCES).with_suffix("")) for f in files if f.name != "__init__.py"]
    core = [n for n in names if any(fnmatch(n, pattern) for pattern in TESTS)]
    return [n for n in core if any(fnmatch(n, pattern) for pattern in wanted)]


def folders_of(module: str) -> list[str]:
    """Return the folders and files of tests that the module's mutants run against."""
    folders = next(found for pattern, found in TESTS.items() if fnmatch(module, pattern))
    return [f"tests/{f.format(folder=Path(module).parent)}" for f in folders]


@dataclass
class Folder:
    """A copy of the sources under build/mutants in which these modules have mutants."""

    name: str
    modules: list[str]
    caught: dict[str, bool] = field(default_factory=dict)
    """Every mutant that was run, and whether a test noticed it."""
    only: list[str] | None = None
    """The wanted mutants, if not all: other functions then run at full speed."""

    @property
    def path(self) -> Path:
        return WORK / self.name

    def prepare(self) -> None:
        """Lay out the folder as mutmut needs it: tests and all they read, and the settings."""
        mutants = self.path / "mutants"
        mutants.mkdir(parents=True, exist_ok=True)
        if self.only is None:
            _link(self.path / "src", ROOT / "python")
        else:
            self._copy(self.only)
        _link(mutants / "python", Path("src"))
        for name in ("tests", "pyproject.toml"):
            _link(self.path / name, ROOT / name)
        for entry in ROOT.iterdir():
            if entry.name not in NOT_LINKED and not entry.name.startswith("."):
                _link(mutants / entry.name, entry)
        folders = sorted({folder for module in self.modules for folder in folders_of(module)})
        files = [f"src/loomcard/{module}.py" for module in self.modules]
        text = SETTINGS.format(
            files="\n ".join(files), quick=QUICK, tests="\n ".join(folders),
            placed="not " + " and not ".join(PLACED), hang_s=HANG_S,
            ignored="\n ".join(f"--ignore-glob=*/test_{name}.py" for name in WHOLE),
        )  # fmt: skip
        (self.path / "setup.cfg").write_text(text)
        self._forget_survivors([file for f in folders for file in sorted((ROOT / f).rglob("*.py"))])

    def _copy(self, mutants: list[str]) -> None:
        """Copy the sources; functions without a wanted mutant are marked for mutmut."""
        wanted = {(module_of(mutant), function_of(mutant)) for mutant in mutants}
        ignore = shutil.ignore_patterns("__pycache__")
        if not (self.path / "src").exists():
            shutil.copytree(ROOT / "python", self.path / "src", ignore=ignore)
            for module in self.modules:
                file = self.path / f"src/loomcard/{module}.py"
                lines = file.read_text("utf-8").splitlines()
                for name, line in functions(ast.parse("\n".join(lines))):
                    if (module, name) not in wanted:
                        lines[line - 1] += "  # pragma: no mutate block"
                file.write_text("\n".join(lines) + "\n", "utf-8")

    def _forget_survivors(self, tests: list[Path]) -> None:
        """Forget the survivors if the tests are not those of the last run."""
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in tests)).hexdigest()
        seen = self.path / "tests.sha256"
        if seen.exists() and seen.read_text() != digest:
            (self.path / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
            shutil.rmtree(self.path / "mutants" / "tests", ignore_errors=True)
            for meta in self._metas():
                data = json.loads(meta.read_text())
                for mutant, code in data["exit_code_by_key"].items():
                    if code in SURVIVED:
                        data["exit_code_by_key"][mutant] = None
                meta.write_text(json.dumps(data))
        seen.write_text(digest)

    def _metas(self) -> list[Path]:
        metas = [self.path / f"mutants/src/loomcard/{m}.py.meta" for m in self.modules]
        return [meta for meta in metas if meta.exists()]

    def run(self, jobs: int, mutants: list[str]) -> None:
        """Run the mutants that have no result yet; all, or the named ones."""
        command = [Path(sys.executable).parent / "mutmut", "run", f"--max-children={jobs}"]
        here = os.environ | {"LOOMCARD_EXAMPLES": "mutants", "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.path / "mutmut.log").open("wb") as log:
            ran = subprocess.run(
                [*command, *mutants], cwd=self.path, env=here, stdout=log, stderr=log, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES,) * 2),
            )  # fmt: skip
        if ran.returncode:
            said = (self.path / "mutmut.log").read_text("utf-8", "replace")[-3000:]
            sys.exit(f"{said}\nmutants: mutmut failed in {self.path}, see mutmut.log there")

    def done(self) -> bool:
        """Return whether every mutant of the present sources has a result."""
        sources = [SOURCES / f"{module}.py" for module in self.modules]
        metas = self._metas()
        return len(metas) == len(sources) and all(
            meta.stat().st_mtime > source.stat().st_mtime
            and None not in json.loads(meta.read_text())["exit_code_by_key"].values()
            for meta, source in zip(metas, sources, strict=True)
        )

    def read(self) -> None:
        """Return the results so far."""
        for meta in self._metas():
            codes = json.loads(meta.read_text())["exit_code_by_key"]
            self.caught |= {
                m: code not in SURVIVED for m, code in codes.items() if code is not None
            }

    def change(self, mutant: str) -> str:
        """Return `function: old line -> new line`, which stays the same when other mutants come or
        go.
        """
        from mutmut.mutation.diff_apply import get_diff_for_mutant

        os.chdir(self.path)
        file = f"src/loomcard/{module_of(mutant)}.py"
        diff = get_diff_for_mutant(mutant, path=file).splitlines()[2:]
        old = " ".join(line[1:].strip() for line in diff if line.startswith("-"))
        new = " ".join(line[1:].strip() for line in diff if line.startswith("+"))
        return f"{function_of(mutant)}: {old} -> {new}"


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Return name and line of each function and method, as in ``function_of``."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                yield (f"{node.name}." if node is not inner else "") + inner.name, inner.lineno


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(target)


def module_of(mutant: str) -> str:
    """Return the module: `loomcard.model.placement.x_fits__mutmut_3` is one of
    `model/placement`.
    """
    return mutant.partition(".x")[0].removeprefix("loomcard.").replace(".", "/")


def function_of(mutant: str) -> str:
    """Return the function: `place`, or `Plan.place` if it is a method."""
    name = mutant.partition(".x")[2].rpartition("__mutmut_")[0]
    return name.strip("ǁ").replace("ǁ", ".") if name.startswith("ǁ") else name.removeprefix("_")


class Explained:
    """The changes that tests need not notice, as listed in tests/mutants.toml."""

    def __init__(self) -> None:
        groups = tomllib.loads(EXPLAINED.read_text("utf-8"))
        self.everywhere = [re.compile(entry["unchecked"]) for entry in groups.pop("everywhere", [])]
        self.changes = {m: {c for entry in groups[m] for c in entry["changes"]} for m in groups}

    def has(self, module: str, change: str) -> bool:
        """Return whether it is listed, or changes only what is unchecked everywhere."""
        old, _, new = change.partition(": ")[2].partition(" -> ")
        return change in self.changes.get(module, ()) or any(
            pattern.sub("", old) == pattern.sub("", new) for pattern in self.everywhere
        )


@dataclass
class Score:
    """The results of the mutants of a module, or of a sample."""

    made: int = 0
    caught: int = 0
    survived: int = 0
    explained: int = 0

    @property
    def share(self) -> float:
        return (self.caught + self.explained) / self.made if self.made else 1.0

    def __str__(self) -> str:
        return (
            f"{self.made} mutants, {self.caught} caught, {self.survived} survived, "
            f"{self.explained} explained ({self.share:.0%})"
        )

    def add(self, other: Score) -> None:
        for name in ("made", "caught", "survived", "explained"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def score(folder: Folder, chosen: Iterable[str]) -> Score:
    """Count the chosen mutants and print those that survived without an explanation."""
    made = Score()
    known, met = Explained(), set()
    for mutant in chosen:
        made.made += 1
        if folder.caught[mutant]:
            made.caught += 1
            continue
        module, change = module_of(mutant), folder.change(mutant)
        met.add(change)
        if known.has(module, change):
            made.explained += 1
        else:
            made.survived += 1
            print(f"survived  {module} {change}   [{mutant.rpartition('_')[2]}]")
    if folder.only is None:  # a sample does not have all that is explained
        for module in folder.modules:
            for change in sorted(known.changes.get(module, set()) - met):
                print(f"mutants.toml explains what does not survive: {module} {change}")
    return made


def all_mutants(among: list[str]) -> Iterator[str]:
    """Return the names of all mutants of the modules, without a run."""
    from mutmut.configuration import reset_config
    from mutmut.mutation.file_mutation import mutate_file_contents

    folder = Folder("names", among)
    folder.prepare()
    os.chdir(folder.path)
    reset_config()
    for module in among:
        file = SOURCES / f"{module}.py"
        prefix = f"loomcard.{module.replace('/', '.')}"
        for name in mutate_file_contents(str(file), file.read_text("utf-8")).mutant_names:
            yield f"{prefix}.{name}"


def sample(size: int, seed: int, among: list[str], jobs: int) -> Score:
    """Choose the same mutants at every revision that has them: the first by a hash of seed and
    name.
    """

    def rank(mutant: str) -> bytes:
        return hashlib.sha256(f"{seed} {mutant}".encode()).digest()

    chosen = sorted(all_mutants(among), key=rank)[:size]
    have = {module_of(mutant) for mutant in chosen}
    chosen_from = [m for m in among if m in have]
    texts = b"".join((SOURCES / f"{module}.py").read_bytes() for module in chosen_from)
    digest = hashlib.sha256(texts).hexdigest()[:8]
    folder = Folder(f"sample-{size}-{seed}-{digest}", chosen_from, only=chosen)
    folder.prepare()
    folder.read()
    if waiting := [mutant for mutant in chosen if mutant not in folder.caught]:
        folder.run(jobs, waiting)
        folder.read()
    for mutant in sorted(chosen):
        print(f"{'caught' if folder.caught[mutant] else 'missed'} {mutant}")
    return score(folder, chosen)


def write(module: str, made: Score) -> None:
    """Write the module's row in the table of docs/project/mutants.md."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(TABLE[0])
    table, _, after = rest.partition(TABLE[1])
    rows = {line.split("|")[1].strip(" `"): line for line in table.splitlines()[2:]}
    rows[module] = (
        f"| `{module}` | {made.made} | {made.caught} | {made.explained} | {made.survived} "
        f"| {made.share:.0%} | {date.today()} |"
    )
    head = "| module | mutants | caught | explained | survived | | run |\n|--|--|--|--|--|--|--|\n"
    lines = "".join(f"{rows[name]}\n" for name in sorted(rows))
    PAGE.write_text(f"{before}{TABLE[0]}{head}{lines}{TABLE[1]}{after}", "utf-8")


def main() -> int:
    """Module by module; the sums are the last line."""
    parser = argparse.ArgumentParser(prog="mutants", description="mutants of the core")
    parser.add_argument("modules", nargs="*", default=["*"], help="such as model/placement, api/*")
    parser.add_argument("--sample", type=int, help="only so many, of all the modules")
    parser.add_argument("--seed", type=int, default=1, help="which sample (1)")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time (2)")
    parser.add_argument("--write", action="store_true", help=f"the results into {PAGE.name}")
    options = parser.parse_args()
    if not (among := modules(options.modules)):
        print(f"mutants: no module of the core is {' '.join(options.modules)}: give a path below "
              f"python/loomcard that matches {', '.join(TESTS)}", file=sys.stderr)  # fmt: skip
        return 2
    if options.sample:
        print(f"mutants: {sample(options.sample, options.seed, among, options.jobs)}")
        return 0
    total, low = Score(), False
    for module in among:
        if next(all_mutants([module]), None) is None:
            continue  # only classes of fields
        folder = Folder(module.replace("/", "."), [module])
        folder.prepare()
        if not folder.done():
            folder.run(options.jobs, [])
        folder.read()
        made = score(folder, folder.caught)
        print(f"{module}: {made}", flush=True)
        if options.write:
            write(module, made)
        total.add(made)
        low |= made.share < LEAST
    print(f"mutants: {total}")
    return int(low)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("mutants: cut; the same command goes on")
