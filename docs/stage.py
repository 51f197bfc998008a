"""`make docs`: copies what the documentation site is made of to build/pages.

All pages of the repository and what they link to, each at its path in the repository: so links
between them work on GitHub and on the site. The JSON Schemas are generated.
"""

import json
import re
import shutil
from pathlib import Path

from loomcard.cli.schema import SCHEMAS

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "pages"
LINK = re.compile(r"\]\(([^)#:]+)")


def main() -> None:
    """Copies them anew."""
    shutil.rmtree(STAGE, ignore_errors=True)
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = {
        (page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text())
    }
    styles = (ROOT / "docs").rglob("*.css")
    for path in {*pages, *styles, *(link for link in links if link.is_file())}:
        copy = STAGE / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for kind, schema in SCHEMAS.items():
        file = STAGE / "docs" / "reference" / f"{kind}.schema.json"
        file.write_text(json.dumps(schema(), indent=2))


if __name__ == "__main__":
    main()
