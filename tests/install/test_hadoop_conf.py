"""The configuration is read as Hadoop's own Configuration reads it."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from loomcard.cluster import paths
from loomcard.config.shipped import PlaceError
from loomcard.install import hadoop_conf
from loomcard.install.site_file import SiteFileError

KEYS = [f"k{n}" for n in range(6)]
FOLDERS = 60
# Like a ResourceManager: by name from the class path, then both files once more as streams.
READER = """
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class Reader {
  public static void main(String[] words) throws Exception {
    for (File folder : new File(words[0]).listFiles()) {
      URL[] path = {folder.toURI().toURL()};
      Thread.currentThread().setContextClassLoader(new URLClassLoader(path));
      StringBuilder line = new StringBuilder("read " + folder.getName());
      try {
        Configuration conf = new YarnConfiguration();
        for (String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
          conf.addResource(conf.getConfResourceAsInputStream(name), name);
        }
        for (int i = 1; i < words.length; i++) {
          String value = conf.get(words[i]);
          line.append('|').append(value == null ? "" : value.trim().replace("\\n", "~"));
        }
      } catch (RuntimeException e) {
        line.setLength(line.indexOf("|") < 0 ? line.length() : line.indexOf("|"));
        line.append("|refused");
      }
      System.out.println(line);
    }
  }
}
"""
VALUES = [
    "1", " 2 ", "", "${k0}", "a${k1}b", "${k9}", "${env.LOOMCARD_X}", "${env.LOOMCARD_Y:-d}",
    "${env.LOOMCARD_Y-e}", "${env.LOOMCARD_E:-f}", "${user.name}", "${k2", "${${k3}}", "$k1",
    "<![CDATA[x]]>", "a<!-- c -->b", "a<![CDATA[ ${k0} ]]>", "\n  3\n",
]  # fmt: skip


def a_property(draw: random.Random) -> str:
    """A property in one of the forms that Hadoop takes."""
    name, value = draw.choice(KEYS), draw.choice(VALUES)
    plain = value if "<" not in value else "1"
    final = draw.choice(["", "", "", "<final>true</final>", "<final> true</final>"])
    return draw.choice(
        [
            f"<property><name>{name}</name><value>{value}</value>{final}</property>",
            f"<property>{final}<value>{value}</value><name> {name} </name></property>",
            f'<property name="{name}" value="{plain}"/>',
            f'<property name="{name}" value="{plain}" final="true"/>',
            f'<property name="{name}" value="{plain}"><value>{value}</value></property>',
            f"<property><name>{name}</name><value/>{final}</property>",
            f"<property><value>{value}</value></property>",
        ]
    )


def a_file(draw: random.Random, others: list[str]) -> str:
    """A file of properties that may include others, which may be missing."""
    parts = [a_property(draw) for _ in range(draw.randrange(5))]
    for _ in range(draw.randrange(3)):
        href = draw.choice([*others, "missing.xml"])
        has_fallback = (href == "missing.xml" and draw.random() < 0.9) or draw.random() < 0.3
        fallback = f"<xi:fallback>{a_property(draw)}</xi:fallback>" if has_fallback else ""
        parts.insert(
            draw.randrange(len(parts) + 1), f'<xi:include href="{href}">{fallback}</xi:include>'
        )
    space = draw.choice(["", "\n  "])
    body = space.join(parts)
    root = '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
    return f'<?xml version="1.0"?>\n{root}{space}{body}\n</configuration>\n'


def lay_out(folder: Path, seed: int) -> None:
    """Return a configuration folder."""
    draw = random.Random(seed)  # noqa: S311 (examples)
    (folder / "sub").mkdir(parents=True)
    (folder / "deep.xml").write_text(a_file(draw, ["missing.xml"]))
    (folder / "sub" / "inner.xml").write_text(a_file(draw, ["deep.xml"]))
    whole = str(folder / "deep.xml")
    others = ["deep.xml", "sub/inner.xml", whole, f"file://{whole}"]
    for name in ("core-site.xml", "yarn-site.xml"):
        (folder / name).write_text(a_file(draw, others))


def read(folder: Path) -> list[str]:
    """Return the values of the keys, in the form of the program above."""
    try:
        conf = hadoop_conf.read(folder)
        return [conf.get(key).replace("\n", "~") for key in KEYS]
    except SiteFileError:
        return ["refused"]


def test_every_value_is_the_one_that_hadoop_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Includes, fallbacks, final properties, attributes, variables and CDATA are read like Hadoop
    does, over many folders.
    """
    monkeypatch.setenv("LOOMCARD_X", "x")
    monkeypatch.setenv("LOOMCARD_E", "")
    confs = tmp_path / "confs"
    for seed in range(FOLDERS):
        lay_out(confs / str(seed), seed)
    (tmp_path / "Reader.java").write_text(READER)
    try:
        java = str(paths.java_home() / "bin" / "java")
        command = [
            java,
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{paths.jars()}/*",
            "Reader.java",
            str(confs),
            *KEYS,
        ]
    except PlaceError as error:
        pytest.skip(f"{error}; {error.hint}")
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    lines = [each for each in done.stdout.splitlines() if each.startswith("read ")]
    hadoop = dict(line.removeprefix("read ").split("|", 1) for line in lines)
    assert len(hadoop) == FOLDERS
    ours = {each: "|".join(read(confs / each)) for each in hadoop}
    wrong = {each: (ours[each], hadoop[each]) for each in hadoop if ours[each] != hadoop[each]}
    assert not wrong, json.dumps(wrong, indent=1)
    assert 0 < list(ours.values()).count("refused") < FOLDERS / 2


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    """Hadoop would overflow its stack on such a file."""
    (tmp_path / "yarn-site.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="yarn-site.xml"/></configuration>'
    )
    with pytest.raises(SiteFileError, match="more than 100 files are included"):
        hadoop_conf.read(tmp_path)


def test_what_is_included_from_elsewhere_is_refused(tmp_path: Path) -> None:
    """Nothing is downloaded to read a configuration."""
    (tmp_path / "yarn-site.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="http://conf.example.org/y.xml"/></configuration>'
    )
    with pytest.raises(SiteFileError, match="included from elsewhere"):
        hadoop_conf.read(tmp_path)
