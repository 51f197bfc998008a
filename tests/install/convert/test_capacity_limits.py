"""Limits of a CapacityScheduler's queues, and of those that it creates, as YARN computes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from converting import TWO, capacity, outcome, queue

FIRST = {
    "root.queues": "users,b", "root.users.capacity": "90", "root.b.capacity": "10",
    "root.users.auto-create-child-queue.enabled": "true",
    "root.users.auto-create-child-queue.max-queues": "10",
    "root.users.leaf-queue-template.capacity": "10",
}  # fmt: skip
"""Leaves created in the first form."""
SECOND = {
    "root.queues": "users,b", "root.users.capacity": "9w", "root.b.capacity": "1w",
    "root.users.auto-queue-creation-v2.enabled": "true",
}  # fmt: skip
"""Leaves created in the second form."""


def template(made: Any) -> dict[str, Any]:
    """Return the keys of what is created below root.users."""
    found: dict[str, Any] = queue(made, "root.users")["auto_create"]["template"]
    return found


# -- limits of which the nearest counts in YARN


def test_a_lifetime_of_a_child_replaces_that_of_its_parent(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.maximum-application-lifetime": "3600",
               "root.default-application-lifetime": "1800",
               "root.a.maximum-application-lifetime": "0",
               "root.b.maximum-application-lifetime": "86400"},
    )  # fmt: skip

    assert not {"maximum_lifetime", "default_lifetime"} & {*queue(made, "root")}
    assert not {"maximum_lifetime", "default_lifetime"} & {*queue(made, "root.a")}
    assert queue(made, "root.b")["maximum_lifetime"] == 86400
    assert queue(made, "root.b")["default_lifetime"] == 1800


def test_a_lifetime_that_holds_for_all_leaves_stays_where_it_is_stated(tmp_path: Path) -> None:
    made = capacity(
        tmp_path, {**TWO, "root.maximum-application-lifetime": "60"} | {
            "root.a.maximum-application-lifetime": "60"}
    )  # fmt: skip

    assert queue(made, "root")["maximum_lifetime"] == 60
    assert "maximum_lifetime" not in queue(made, "root.a")


def test_the_largest_container_of_a_child_replaces_that_of_its_parent(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.maximum-allocation-mb": "4096", "root.maximum-allocation-vcores": "4",
               "root.a.maximum-allocation-mb": "16384",
               "root.b.maximum-allocation": "memory-mb=8g,vcores=4"},
    )  # fmt: skip

    assert "maximum_allocation" not in queue(made, "root")
    assert queue(made, "root.a")["maximum_allocation"] == {"memory_mb": 16384, "vcores": 4}
    assert queue(made, "root.b")["maximum_allocation"] == {"memory_mb": 8192, "vcores": 4}


def test_a_largest_container_of_nothing_is_named_as_lost(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO | {"root.a.maximum-allocation-mb": "0"})

    assert "maximum_allocation" not in queue(made, "root.a")
    assert outcome(made, "a.maximum-allocation-mb").became == "lost"


@pytest.mark.parametrize(
    ("memory", "mebibytes"),
    [("10240", 10240), ("10G", 9536), ("10240M", 9765), ("10Gi", 10240), ("1T", 953674)],
)
def test_units_of_a_capacity_are_decimal_but_those_with_an_i(
    tmp_path: Path, memory: str, mebibytes: int
) -> None:
    values = TWO | {"root.a.capacity": f"[memory={memory},vcores=5]",
                    "root.b.capacity": "[memory=1,vcores=1]"}  # fmt: skip

    assert queue(capacity(tmp_path, values), "root.a")["guaranteed"] == {
        "memory_mb": mebibytes, "vcores": 5,
    }  # fmt: skip


# -- queues that accept nothing


@pytest.mark.parametrize(
    "values",
    [
        {"root.a.capacity": "0", "root.b.capacity": "100", "root.a.maximum-capacity": "0"},
        {"root.a.capacity": "0", "root.b.capacity": "100"},
        {"root.a.maximum-applications": "0"},
        {"root.a.capacity": "0w", "root.b.capacity": "1w"},
        {"root.a.user-limit-factor": "0"},
        {"root.a.user-limit-factor": "-2"},
        {"root.a.minimum-user-limit-percent": "0"},
        {"maximum-applications": "0"},
        {"maximum-applications": "1"},
    ],
)
def test_a_queue_whose_applications_yarn_refuses_is_stopped(
    tmp_path: Path, values: Mapping[str, str]
) -> None:
    assert queue(capacity(tmp_path, TWO | values), "root.a")["state"] == "stopped"


@pytest.mark.parametrize(
    "values",
    [
        {"root.a.capacity": "2w", "root.b.capacity": "1w"},
        {"root.a.capacity": "[memory=10,vcores=1]", "root.b.capacity": "[memory=10,vcores=1]"},
        {"root.a.maximum-applications": "-1"},
        {"root.a.user-limit-factor": "-1"},
        {"root.a.capacity": "0", "root.b.capacity": "100", "global-queue-max-application": "5"},
        {"root.a.capacity": "0", "root.b.capacity": "100",
         "root.a.accessible-node-labels": "gpu",
         "root.a.accessible-node-labels.gpu.capacity": "50"},
    ],
)  # fmt: skip
def test_a_queue_with_room_for_applications_is_not_stopped(
    tmp_path: Path, values: Mapping[str, str]
) -> None:
    assert "state" not in queue(capacity(tmp_path, TWO | values), "root.a")


def test_a_leaf_takes_applications_by_its_largest_part_of_a_label(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.a.accessible-node-labels": "gpu",
               "root.a.accessible-node-labels.gpu.capacity": "80"},
    )  # fmt: skip

    assert queue(made, "root.a")["maximum_applications"] == 8000


# -- created leaves


def test_leaves_of_the_second_form_have_no_user_limit_unless_they_say_so(tmp_path: Path) -> None:
    general = {"user-limit-factor": "3", "minimum-user-limit-percent": "50"}
    own = {"root.users.auto-queue-creation-v2.template.user-limit-factor": "2"}

    made = queue(capacity(tmp_path, SECOND | general), "root")["options"]
    stated = queue(capacity(tmp_path, SECOND | general | own), "root")["options"]

    assert (made["user_limit_factor"], made["minimum_user_limit_percent"]) == (3, 50)
    assert made["levels"] == {"root.users": {"user_limit_factor": -1}}
    assert stated["levels"] == {"root.users": {"user_limit_factor": 2}}


def test_a_leaf_beside_created_ones_keeps_its_own_rules(tmp_path: Path) -> None:
    made = capacity(
        tmp_path, SECOND | {"root.users.queues": "team", "root.users.team.capacity": "1w"}
    )

    levels = queue(made, "root")["options"]["levels"]
    assert levels["root.users"] == {"user_limit_factor": -1}
    assert levels["root.users.team"]["user_limit_factor"] == 1


def test_leaves_of_the_first_form_inherit_the_general_limits(tmp_path: Path) -> None:
    made = capacity(tmp_path, FIRST | {"maximum-am-resource-percent": "0.2"})

    assert template(made) == {
        "guaranteed": "10%", "maximum_applications": 900, "am_share": "20%",
    }  # fmt: skip
    assert template(capacity(tmp_path, SECOND)) == {}


@pytest.mark.parametrize(
    "values",
    [
        {"capacity": "11"},
        {"capacity": "[memory=5%,vcores=6%]"},
        {"accessible-node-labels.gpu.capacity": "11"},
    ],
)
def test_what_created_leaves_cannot_all_have_is_named_as_lost(
    tmp_path: Path, values: Mapping[str, str]
) -> None:
    ((key, value),) = values.items()
    name = f"root.users.leaf-queue-template.{key}"
    made = capacity(
        tmp_path, FIRST | {"root.users.accessible-node-labels.gpu.capacity": "100", name: value}
    )

    assert not {"label_guaranteed"} & {*template(made)}
    assert outcome(made, name).became == "lost"


def test_amounts_of_a_template_must_fit_into_the_parent(tmp_path: Path) -> None:
    amounts = {
        "root.users.capacity": "[memory=90000,vcores=90]", "root.b.capacity": "[memory=1,vcores=1]",
        "root.users.leaf-queue-template.capacity": "[memory=9000,vcores=9]",
    }  # fmt: skip
    more = {"root.users.auto-create-child-queue.max-queues": "11"}

    assert "guaranteed" in template(capacity(tmp_path, FIRST | amounts))
    assert "guaranteed" not in template(capacity(tmp_path, FIRST | amounts | more))


def test_lists_of_a_template_are_those_of_the_created_leaves(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        FIRST | {"root.acl_submit_applications": " ", "root.acl_administer_queue": "boss",
                 "root.users.leaf-queue-template.acl_submit_applications": "alice"},
    )  # fmt: skip

    assert template(made)["submit"] == ["alice", "boss"]


def test_numbers_outside_the_bounds_here_are_moved_into_them(tmp_path: Path) -> None:
    form = "root.users.auto-queue-creation-v2"
    made = capacity(
        tmp_path,
        SECOND | {f"{form}.max-queues": "20000", f"{form}.maximum-queue-depth": "10",
                  "auto-queue-creation-v2.queue-expiration-time": "0"},
    )  # fmt: skip

    found = queue(made, "root.users")["auto_create"]
    assert [found[key] for key in ("maximum_queues", "depth", "remove_after")] == [10_000, 8, 1]
    for name in ("max-queues", "maximum-queue-depth", "queue-expiration-time"):
        assert "here it is from 1 to" in outcome(made, name).why


def test_a_form_that_is_off_has_no_effect(tmp_path: Path) -> None:
    made = capacity(tmp_path, FIRST | {"root.users.auto-create-child-queue.enabled": "false"})

    assert outcome(made, "leaf-queue-template.capacity").became == "no effect"
    assert made.count("lost") == 0


@pytest.mark.parametrize(
    "values",
    [
        FIRST | {"root.users.leaf-queue-template.capacity": "0"},
        {name: text for name, text in FIRST.items() if "template" not in name},
        SECOND | {"root.users.auto-queue-creation-v2.template.capacity": "0w"},
        SECOND | {"root.users.capacity": "0w"},
    ],
)
def test_created_leaves_whose_applications_yarn_refuses_are_stopped(
    tmp_path: Path, values: Mapping[str, str]
) -> None:
    assert template(capacity(tmp_path, values))["state"] == "stopped"


def test_a_users_part_of_the_applications_is_of_the_exact_percentage(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO | {"root.a.minimum-user-limit-percent": "33.3"})

    assert queue(made, "root.a")["maximum_applications_per_user"] == 1998


# -- other keys


def test_percentages_below_a_weight_are_weights(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        {"root.queues": "a,b", "root.a.capacity": "5w", "root.b.capacity": "5w",
         "root.a.queues": "x,y", "root.a.x.capacity": "70", "root.a.y.capacity": "30"},
    )  # fmt: skip

    assert queue(made, "root.a.x")["weight"] == 70
    assert "guaranteed" not in queue(made, "root.a.x")
    assert queue(made, "root.a.x")["maximum_applications"] == 3500


def test_roots_maximum_is_kept(tmp_path: Path) -> None:
    assert (
        queue(capacity(tmp_path, TWO | {"root.maximum-capacity": "50"}), "root")["maximum"] == "50%"
    )


def test_what_a_label_that_a_queue_may_not_use_has_is_left_out(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.a.accessible-node-labels": "gpu",
               "root.a.accessible-node-labels.ssd.capacity": "70"},
    )  # fmt: skip

    assert "label_guaranteed" not in queue(made, "root.a")
    assert outcome(made, "ssd.capacity").became == "no effect"


@pytest.mark.parametrize(("labels", "stated"), [(" ", ""), ("gpu", ""), ("gpu,ssd", None)])
def test_a_default_label_holds_below_only_with_all_labels_of_the_parent(
    tmp_path: Path, labels: str, stated: str | None
) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.a.accessible-node-labels": "gpu,ssd", "root.a.queues": "x",
               "root.a.default-node-label-expression": "gpu", "root.a.x.capacity": "100",
               "root.a.x.accessible-node-labels": labels},
    )  # fmt: skip

    assert queue(made, "root.a.x").get("default_label") == stated


def test_a_priority_below_0_and_running_applications_below_0_become_0(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        TWO | {"root.a.default-application-priority": "-1", "root.a.max-parallel-apps": "-1"},
    )

    assert queue(made, "root.a")["default_priority"] == 0
    assert queue(made, "root.a")["maximum_running_applications"] == 0
