"""Checks the links of a built site, and those between the Markdown pages where they lie: every one inside must lead to a file, and every
`#place` to an element of it. Usage: python scripts/check_links.py SITE
"""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """The links and the places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def site_faults(site: Path) -> list[str]:
    """What is wrong in the built pages."""
    faults = []
    # What the theme brings along is not ours, and holds templates.
    for path in sorted(path for path in site.rglob("*.html") if "_static" not in path.parts):
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith(("javascript:", "data:")):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                faults.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).places:
                faults.append(f"{path.relative_to(site)}: {link} names a place that is not there")
    return faults


def markdown_faults() -> list[str]:
    """What is wrong between the pages of the repository, for those who read them there."""
    faults = []
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md"), ROOT / "bench" / "README.md"]
    for path in sorted(pages):
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            parts = urlsplit(link)
            target = path.parent / unquote(parts.path)
            # The gallery is made with the site.
            if not parts.scheme and parts.path and not target.exists() and "gallery/" not in parts.path:
                faults.append(f"{path.relative_to(ROOT)}: {link} leads nowhere")
    return faults


if __name__ == "__main__":
    found = [*markdown_faults(), *site_faults(Path(sys.argv[1]).resolve())]
    print("\n".join(found))
    if found:
        sys.exit(f"{len(found)} broken links")
