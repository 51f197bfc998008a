"""Programs to run on a cluster: Hadoop's own examples by name, or any jar."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loomcard.validation.hinted import HintedError


class ProgramError(HintedError):
    """The program does not exist, or its arguments are wrong. `hint` says what would be right."""


@dataclass(frozen=True)
class Program:
    """A MapReduce client's main class and its arguments.

    `jar` is None for a class in Hadoop's own jars.
    """

    name: str
    main_class: str
    arguments: tuple[str, ...]
    jar: Path | None = None

    def command(self, definitions: Sequence[str] = ()) -> list[str]:
        """Return the words after `java -cp ...`; `definitions`: Hadoop properties, `name=value`."""
        defined = [f"-D{definition}" for definition in definitions]
        if self.jar is not None:
            # A jar's main class comes first, and generic options directly after it.
            head, *rest = self.arguments or ("",)
            named = [head] if head and not head.startswith("-") and "." in head else []
            rest = rest if named else list(self.arguments)
            return [self.main_class, str(self.jar), *named, *defined, *rest]
        return [self.main_class, *defined, *self.arguments]


@dataclass(frozen=True)
class _Example:
    main_class: str
    usage: str
    least: int
    defaults: tuple[str, ...] = ()
    paths: tuple[int, ...] = ()


_EXAMPLES = {
    "pi": _Example("org.apache.hadoop.examples.QuasiMonteCarlo", "MAPS SAMPLES", 2, ("2", "1000")),
    "sleep": _Example(
        "org.apache.hadoop.mapreduce.SleepJob",
        "-m MAPS -r REDUCES -mt MAP_MS -rt REDUCE_MS",
        2,
        ("-m", "2", "-r", "0", "-mt", "1000"),
    ),
    "teragen": _Example("org.apache.hadoop.examples.terasort.TeraGen", "ROWS OUTPUT", 2, (), (1,)),
    "terasort": _Example(
        "org.apache.hadoop.examples.terasort.TeraSort", "INPUT OUTPUT", 2, (), (0, 1)
    ),
    "wordcount": _Example("org.apache.hadoop.examples.WordCount", "INPUT OUTPUT", 2, (), (0, 1)),
}


def example(name: str, arguments: Sequence[str] = (), base: Path | None = None) -> Program:
    """Return a named example with these arguments, or with its defaults if it has some.

    Relative paths among the arguments are below `base`; if that is None, below the user's home in
    the cluster's file system. Raises ProgramError for an unknown name or too few arguments.
    """
    found = _EXAMPLES.get(name)
    if found is None:
        raise ProgramError(
            f"no example job {name!r}", f"there are {', '.join(_EXAMPLES)}; or name a .jar file"
        )
    given = list(arguments) or list(found.defaults)
    if len(given) < found.least:
        raise ProgramError(f"{name} needs its arguments", f"loomcard submit {name} {found.usage}")
    if base is not None:
        # TeraSort loses its partition file if its output is a relative path of file:///.
        for i in found.paths:
            given[i] = given[i] if "://" in given[i] else str(base / given[i])
    return Program(name, found.main_class, tuple(given))


def jar(path: Path, arguments: Sequence[str]) -> Program:
    """Return a jar with its arguments; the main class is first unless the jar's manifest names one.

    Raises ProgramError when the file does not exist.
    """
    if not path.is_file():
        raise ProgramError(f"no file {path}", "name a .jar file or one of the example jobs")
    return Program(path.stem, "org.apache.hadoop.util.RunJar", tuple(arguments), path.resolve())


def program(name: str, arguments: Sequence[str], base: Path | None = None) -> Program:
    """Return an example by name or a jar by path. `base` as in `example`. Raises ProgramError."""
    if name.endswith(".jar"):
        return jar(Path(name), arguments)
    return example(name, arguments, base)
