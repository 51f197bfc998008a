"""A site file of any form is changed, edited by others, and changed back to the byte."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from loomcard.install.site_file import SiteFile

SCHEDULER = "yarn.resourcemanager.scheduler.class"
OURS = {
    SCHEDULER: "org.loomcard.yarn.LoomcardScheduler",
    "loomcard.python": "/opt/a&b/python",
    "loomcard.state.dir": "/var/lib/loomcard",
}
FORMS: dict[str, Callable[[str, str], str]] = {
    "element": lambda n, v: f"<property><name>{n}</name><value>{v}</value></property>",
    "lines": lambda n, v: f"<property>\n  <value>{v}</value>\n  <name> {n}\n</name></property >",
    "attributes": lambda n, v: f"<property value='{v}' name=\"{n}\"/>",
    "attribute": lambda n, v: f'<property name = "{n}"  value = "{v}" ></property>',
    "both": lambda n, v: f'<property name="{n}" value="x>"><value>{v}</value></property>',
    "cdata": lambda n, v: f"<property><name>{n}</name><value><![CDATA[{v}]]></value></property>",
    "comment": lambda n, v: (
        f"<property><!-- <value> --><name>{n}</name><value>{v}<!--\n--></value></property>"
    ),
    "final": lambda n, v: (
        f"<property><name>{n}</name><value>{v}</value><final>true</final></property>"
    ),
    "empty": lambda n, _: f"<property><name>{n}</name><value/></property>",
    "none": lambda n, _: f"<property><name>{n}</name></property>",
}
FORM = st.sampled_from(sorted(FORMS))
GAPS = st.sampled_from(["", "\n", "\n  ", "\n\n\t", " "])
END = "</configuration"
MOST = 6


@st.composite
def properties(draw: st.DrawFn, name: str) -> str:
    """Return a property in one of its forms, with the space before it."""
    value = draw(st.sampled_from(["org.x.Y", "", "a &lt; b", "/usr/lib"]))
    return draw(GAPS) + FORMS[draw(FORM)](name, value)


OTHERS = st.sampled_from(["yarn.acl.enable", "fs.defaultFS", "a.b"]).flatmap(properties)
COMMENTS = st.sampled_from(
    ["\n<!-- <property><name>loomcard.python</name></property> caf\u00e9 -->", "\n<!---->", "\n\n"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a site file, with or without the properties that change; between its parts are
    marks.
    """
    own = [draw(properties(name)) for name in OURS if draw(st.booleans())]
    others = draw(st.lists(OTHERS | COMMENTS, max_size=MOST - len(OURS)))
    parts = draw(st.permutations(own + others))
    body = "".join(f"<!--{at}-->{part}" for at, part in enumerate(parts))
    head = draw(st.sampled_from(["", "<!-- ours -->\n"]))
    tail = draw(st.sampled_from([f"\n{END}>\n", f"{END}>", f" {END} >\n<!-- end -->"]))
    return f'<?xml version="1.0" encoding="@"?>\n{head}<configuration>{body}{tail}'


def edited(data: bytes, edits: list[tuple[str, str, bool]], newline: str, codec: str) -> bytes:
    """Return the text with additions before marks, or instead of them; a missing mark does
    nothing.
    """
    for mark, added, instead in edits:
        new = added.replace("\n", newline) + ("" if instead and mark != END else mark)
        data = data.replace(mark.encode(codec), new.encode(codec), 1)
    return data


MARKS = st.sampled_from([f"<!--{at}-->" for at in range(MOST)] + [END])


@given(
    texts(),
    st.lists(st.tuples(MARKS, OTHERS | COMMENTS, st.booleans()), max_size=4),
    st.integers(0, 4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "iso-8859-1", "utf-16"]),
)
def test_every_byte_of_others_stays(
    text: str, edits: list[tuple[str, str, bool]], first: int, newline: str, encoding: str
) -> None:
    """After a change and its reversal, a file is as others would have it without us, whether their
    edits came after the change or before a second one.
    """
    text = text.replace("@", encoding.removesuffix("-sig")).replace("\n", newline)
    before = text.encode(encoding)
    codec = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    data, changes = SiteFile(before, "f").changed(OURS)
    assert OURS.items() <= SiteFile(data, "f").properties().items()
    data = edited(data, edits[:first], newline, codec)
    assert SiteFile(data, "f").changed(OURS) == (data, [])
    data = edited(data, edits[first:], newline, codec)
    assert SiteFile(data, "f").undone(changes) == edited(before, edits, newline, codec)
