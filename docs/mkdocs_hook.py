"""Collects the files of the documentation site, each at its path in the repository.

So links between them work on GitHub and on the site. The JSON Schemas are generated.
"""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from loomcard.cli.schema import SCHEMAS

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)#:]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files below docs/ by all pages of the repository and what they link to."""
    for file in [f for f in files if f.src_dir == config.docs_dir]:
        files.remove(file)
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = {
        (page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text())
    }
    styles = (ROOT / "docs").rglob("*.css")
    for path in sorted({*pages, *styles, *(link for link in links if link.is_file())}):
        name = str(path.relative_to(ROOT))
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    for kind, schema in SCHEMAS.items():
        content = json.dumps(schema(), indent=2)
        files.append(File.generated(config, f"docs/reference/{kind}.schema.json", content=content))
    return files
