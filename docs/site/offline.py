"""Checks that a built site loads nothing from elsewhere: ``python docs/site/offline.py DIR``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LOADED = re.compile(
    r"<(?:link|script|img|iframe|source|video|audio)\b[^>]*?"
    r"\b(?:src|href|data)=[\"']?((?:https?:)?//[^\s\"'>]+)",
    re.IGNORECASE,
)
IN_STYLE = re.compile(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\s\"')]+)", re.IGNORECASE)


def loaded_from_elsewhere(site: Path) -> Iterator[tuple[Path, str]]:
    """The files that load something, and from where. Links to click load nothing."""
    for path in sorted(site.rglob("*")):
        pattern = {".html": LOADED, ".css": IN_STYLE}.get(path.suffix)
        if pattern and path.is_file():
            for found in pattern.findall(path.read_text(encoding="utf-8")):
                yield path, found


if __name__ == "__main__":
    elsewhere = list(loaded_from_elsewhere(Path(sys.argv[1])))
    for file, address in elsewhere:
        print(f"{file}: loads {address}", file=sys.stderr)
    sys.exit(1 if elsewhere else 0)
