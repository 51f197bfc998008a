from pathlib import Path

from loomcard.demo import picture
from loomcard.demo.gains import gains
from loomcard.demo.real_jobs import RealJobs
from loomcard.report.runs import Study


def test_the_picture_is_written_where_it_was_wanted(
    study: Study, real_jobs: RealJobs, tmp_path: Path
) -> None:
    """Missing folders are created; the file is a PNG."""
    file = tmp_path / "new" / "demo.png"
    picture.write(real_jobs, study, list(gains(study)), "allocated by the policies 4", file)
    assert file.read_bytes().startswith(b"\x89PNG")
