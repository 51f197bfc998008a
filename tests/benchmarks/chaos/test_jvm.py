"""Which processes `make chaos` considers policy processes."""

import os
import subprocess

from benchmarks.chaos.jvm import children, is_policy

WAIT = "read line"


def test_only_a_process_with_a_secret_is_a_policy_process() -> None:
    """A `chmod` of the ResourceManager's store is its child too, and must not be stopped: the store
    would wait for it for ever.
    """
    shell = ["sh", "-c", WAIT, "policy"]
    with (
        subprocess.Popen([*shell, "--secret-file", "s"], stdin=subprocess.PIPE) as policy,
        subprocess.Popen(shell, stdin=subprocess.PIPE) as other,
    ):
        assert {policy.pid, other.pid} <= set(children(os.getpid()))
        assert is_policy(policy.pid)
        assert not is_policy(other.pid)
        for process in (policy, other):
            process.communicate(b"\n")
    assert not is_policy(policy.pid), "it has ended"
