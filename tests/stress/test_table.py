"""The tables: cells, notes, and the page below its mark."""

from loomcard.stress import table
from loomcard.stress.design import DESIGNS
from loomcard.stress.run import Verdict

DESIGN = DESIGNS[0]
GOOD = Verdict("drf", "node-sized")
BAD = Verdict("drf", "swap", {"sound": "ZeroDivisionError: x"})
KNOWN = Verdict(DESIGN.policies[0], DESIGN.scenarios[0], {DESIGN.predicate: "9.0 s"})


def test_a_red_cell_is_broken_unless_the_policys_definition_explains_it():
    found = table.violations([GOOD, BAD, KNOWN])
    assert [violation.why for violation in found] == [None, DESIGN.why]
    numbers = table.notes(found)
    assert table.cell(GOOD, numbers) == "ok"
    assert table.cell(BAD, numbers) == "**broken** sound [1]"
    assert table.cell(KNOWN, numbers) == f"{DESIGN.predicate} [2]"


def test_cells_of_one_reason_share_a_note():
    again = Verdict(DESIGN.policies[0], DESIGN.scenarios[-1], {DESIGN.predicate: "7.0 s"})
    numbers = table.notes(table.violations([KNOWN, again, BAD]))
    assert list(numbers.values()) == [1, 1, 2]


def test_the_markdown_has_every_cell_and_note():
    text = table.markdown([GOOD, BAD, KNOWN])
    assert "| node-sized | ok |  | three tasks" in text
    assert f"2. {DESIGN.why}" in text
    assert "1. A defect: drf in swap, sound: ZeroDivisionError: x." in text


def test_a_page_keeps_what_stands_above_its_mark(tmp_path):
    page = tmp_path / "page.md"
    table.write(page, [BAD])
    page.write_text("# Mine\n\n" + page.read_text().partition("\n\n")[2])
    table.write(page, [GOOD])
    text = page.read_text()
    assert text.startswith("# Mine\n\n" + table.MARK)
    assert "ZeroDivisionError" not in text
