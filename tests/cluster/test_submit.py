from pathlib import Path

from loomcard.cluster.example_jobs import example
from loomcard.cluster.submit import Submission


def submission(log: Path, text: str) -> Submission:
    log.write_text(text)
    return Submission(example("pi"), None, log)  # type: ignore[arg-type]


def test_the_reason_is_what_hadoop_says_without_its_classes(tmp_path: Path) -> None:
    """A user sees only the sentence of a stack trace."""
    text = (
        "INFO connecting\n"
        'Exception in thread "main" java.io.IOException: org.apache.YarnException: Failed to '
        "submit: no such queue\n\tat java.base/Exception\n"
    )
    reason = submission(tmp_path / "log", text).reason()
    assert reason == "Failed to submit: no such queue"


def test_a_client_that_said_nothing_is_reported_so(tmp_path: Path) -> None:
    """An empty log is also reported as a reason."""
    assert submission(tmp_path / "log", "").reason() == "it said nothing"


def test_every_application_of_a_client_is_found(tmp_path: Path) -> None:
    """A program may submit several; their order is that of the log."""
    lines = [
        f"INFO impl.YarnClientImpl: Submitted application application_1_000{i}\n" for i in (1, 2)
    ]
    found = submission(tmp_path / "log", "".join(lines)).applications()
    assert found == ["application_1_0001", "application_1_0002"]
