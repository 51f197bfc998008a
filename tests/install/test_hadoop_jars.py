"""How an installed package gets Hadoop's jars: from a repository or a folder, after damage,
resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loomcard.cluster import hadoop_jars, image_files
from loomcard.cluster.hadoop_jars import JarSourceError, fetch
from loomcard.config.shipped import PlaceError

JARS = {f"org/a{i}/1.0/a{i}-1.0.jar": bytes([i]) * 200_000 for i in range(3)}
FIRST = next(iter(JARS))


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay out what a wheel contains: the list, and a jar of ours. Return the cache folder."""
    files = tmp_path / "files"
    (files / "jars").mkdir(parents=True)
    (files / "jars" / "loomcard-yarn-0.jar").write_bytes(b"ours")
    rows = (f"{sha256(data).hexdigest()} {len(data)} {path}\n" for path, data in JARS.items())
    (files / "hadoop-jars").mkdir()
    (files / "hadoop-jars" / "3.3.txt").write_text("".join(rows))
    monkeypatch.setattr(hadoop_jars, "checkout", lambda: None)
    monkeypatch.setattr(hadoop_jars, "shipped", lambda name: files / name)
    monkeypatch.setenv("LOOMCARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LOOMCARD_JARS_FROM", raising=False)
    return tmp_path / "cache"


class Repository:
    """A Maven repository that answers ranges, and records the requests."""

    def __init__(self) -> None:
        self.files = dict(JARS)
        self.asked: list[tuple[str, str | None]] = []
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, wanted = self.path.lstrip("/"), self.headers["Range"]
                repository.asked.append((path, wanted))
                data = repository.files.get(path)
                if data is None:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
                self.send_response(206 if wanted else 200)
                self.send_header("Content-Length", str(len(data) - start))
                self.end_headers()
                self.wfile.write(data[start:])

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def repository() -> Iterator[Repository]:
    running = Repository()
    yield running
    running.server.shutdown()
    running.server.server_close()


def whole(folder: Path) -> bool:
    """Check that the folder has every jar with its bytes, and ours."""
    right = all((folder / Path(path).name).read_bytes() == data for path, data in JARS.items())
    return right and (folder / "loomcard-yarn-0.jar").is_file() and len(list(folder.iterdir())) == 4


def test_all_jars_come_once(repository: Repository) -> None:
    """The second time nothing is asked for, and first use finds the folder."""
    assert whole(fetch("3.3", repository.url))
    assert len(repository.asked) == 3
    assert fetch("3.3", repository.url) == hadoop_jars.class_path_folder("3.3")
    assert len(repository.asked) == 3


def test_an_image_gets_the_jars_of_its_line(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An installed package puts Hadoop's and ours beside its Dockerfile."""
    monkeypatch.setenv("LOOMCARD_JARS_FROM", repository.url)
    monkeypatch.setattr(image_files, "checkout", lambda: None)
    image_files.add_jars(tmp_path, "3.3")
    jars = tmp_path / "jars" / "3.3"
    assert len(list((jars / "hadoop-3.3").iterdir())) == 3
    assert [each.name for each in (jars / "loomcard").iterdir()] == ["loomcard-yarn-0.jar"]


def test_what_was_begun_is_resumed(repository: Repository, installed: Path) -> None:
    part = (installed / "maven" / FIRST).with_suffix(".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(JARS[FIRST][:150_000])
    assert whole(fetch("3.3", repository.url))
    assert dict(repository.asked)[FIRST] == "bytes=150000-"


def test_a_wrong_checksum_leaves_nothing(repository: Repository, installed: Path) -> None:
    """There is one error that names the jar; with the right bytes the jar is then accepted."""
    repository.files[FIRST] = b"x" * len(JARS[FIRST])
    with pytest.raises(PlaceError, match=r"a0-1.0.jar from http.*SHA-256 is .* expected") as said:
        fetch("3.3", repository.url)
    assert "--from" in said.value.hint
    assert not [p for p in installed.rglob("a0-1.0*") if p.is_file()]
    assert not list(installed.glob("jars-*"))
    repository.files[FIRST] = JARS[FIRST]
    assert whole(fetch("3.3", repository.url))


def test_a_damaged_jar_in_the_cache_is_fetched_again(
    repository: Repository, installed: Path
) -> None:
    fetch("3.3", repository.url)
    (installed / "maven" / FIRST).unlink()
    (installed / "maven" / FIRST).write_bytes(b"short")
    fetch("3.3", repository.url)
    assert (installed / "maven" / FIRST).read_bytes() == JARS[FIRST]


def test_a_jar_that_the_mirror_lacks_is_one_error(repository: Repository) -> None:
    del repository.files[FIRST]
    with pytest.raises(PlaceError, match=r"a0-1.0.jar: the server answers 404"):
        fetch("3.3", repository.url)


@pytest.mark.parametrize("flat", [True, False])
def test_a_folder_will_do(flat: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars may be side by side, or in the layout of a Maven repository."""
    for path, data in JARS.items():
        file = tmp_path / "mirror" / (Path(path).name if flat else path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    monkeypatch.setenv("LOOMCARD_JARS_FROM", str(tmp_path / "mirror"))
    assert whole(fetch("3.3"))


def test_a_source_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(JarSourceError, match="neither a folder nor an address"):
        fetch("3.3", str(tmp_path / "nothing"))
    with pytest.raises(PlaceError, match="has neither org/a0"):
        fetch("3.3", str(tmp_path))


def test_a_line_may_have_a_jar_of_its_own(
    repository: Repository, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken in place of the others; in a checkout that has not built it, the error says how
    to.
    """
    own = installed.parent / "files" / "jars" / "3.3"
    own.mkdir()
    (own / "loomcard-yarn-3.3-0.jar").write_bytes(b"its own")
    folder = fetch("3.3", repository.url)
    ours = [jar.name for jar in folder.glob("loomcard-*")]
    assert ours == ["loomcard-yarn-3.3-0.jar"]
    checkout = installed.parent / "checkout"
    (checkout / "jvm-bridge" / "line-3.3").mkdir(parents=True)
    monkeypatch.setattr(hadoop_jars, "checkout", lambda: checkout)
    with pytest.raises(PlaceError, match=r"no Loomcard jar for Hadoop 3\.3") as said:
        fetch("3.3", repository.url)
    assert said.value.hint == "run `make line-3.3`"


def test_a_line_that_is_not_served_is_refused() -> None:
    """With those that are."""
    with pytest.raises(JarSourceError, match=r"Hadoop 3\.9: no such line") as said:
        fetch("3.9")
    assert said.value.hint == "name one of 2.7, 2.10, 3.1, 3.2, 3.3, 3.4, 3.5"
