"""Access lists of the stock schedulers: who they let in, and when YARN asks them."""

from pathlib import Path

import pytest

from converting import TWO, capacity, fair, outcome, queue

CLOSED = {"root.acl_submit_applications": " ", "root.acl_administer_queue": " "}
"""Nobody, as far as root says."""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (" etl", ["group:etl"]),
        ("alice", ["alice"]),
        ("alice etl", ["alice", "group:etl"]),
        ("alice,bob  etl, ops", ["alice", "bob", "group:etl", "group:ops"]),
        ("alice *", ["*"]),
        ("* etl", ["*"]),
        (" * ", ["*"]),
        ("*,alice", ["alice"]),
        ("alice bob carol", ["alice"]),  # one group, "bob carol", which cannot be
    ],
)
def test_a_list_is_users_then_groups(tmp_path: Path, text: str, names: list[str]) -> None:
    made = capacity(tmp_path, TWO | CLOSED | {"root.a.acl_submit_applications": text})

    assert queue(made, "root.a")["submit"] == names


def test_groups_alone_are_groups_beside_a_variable_too(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | CLOSED | {"root.a.acl_submit_applications": " ${etl}"},
        site={"yarn.acl.enable": "true", "etl": "etl"},
    )

    assert queue(made, "root.a")["submit"] == ["group:etl"]


def test_a_name_that_nobody_can_have_is_named(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO | CLOSED | {"root.a.acl_submit_applications": "*,alice"})

    assert "can be called *" in outcome(made, "a.acl_submit_applications").why


@pytest.mark.parametrize("site", [{}, {"yarn.acl.enable": "false"}])
def test_capacity_scheduler_asks_no_list_unless_yarn_acl_enable_is_true(
    tmp_path: Path, site: dict[str, str]
) -> None:
    made = capacity(tmp_path, TWO | CLOSED | {"root.a.acl_submit_applications": "alice"}, site=site)

    assert "submit" not in queue(made, "root")
    assert "submit" not in queue(made, "root.a")
    assert outcome(made, "a.acl_submit_applications").became == "no effect"


def test_without_yarn_site_a_list_is_written_with_what_it_depends_on(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO | CLOSED | {"root.a.acl_submit_applications": "alice"})

    assert queue(made, "root.a")["submit"] == ["alice"]
    assert "only if yarn.acl.enable" in outcome(made, "a.acl_submit_applications").why


def test_fair_scheduler_asks_its_lists_always(tmp_path: Path) -> None:
    made = fair(
        tmp_path,
        '<queue name="root"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> '
        '</aclAdministerApps><queue name="a"><aclSubmitApps> etl</aclSubmitApps></queue></queue>',
        site={"yarn.acl.enable": "false"},
    )

    assert queue(made, "root.a")["submit"] == ["group:etl"]
