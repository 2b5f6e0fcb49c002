"""What a kernel is to be made of, and whether one that is there is made of that."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marqueue.errors import MarqueueError
from marqueue.kernels.cache import FORMAT, Kernel
from marqueue.kernels.commands import COMPILER, call
from marqueue.kernels.patches import DATA, NOTIFY, SEED

FRAGMENT = DATA / "linux" / "kernel.config"
GUEST = DATA / "guest"

TICKS = (100, 250, 300, 1000)
"""Ticks a second that a kernel can have. That of user-mode Linux is 100; Debian's is 250."""


@dataclass(frozen=True)
class Recipe:
    """What a build is told, besides the source."""

    name: str
    tree: Path | None = None
    """A source of one's own; None for the release of this name."""
    release: str | None = None
    """The release whose source is taken; None for a tree."""
    patches: tuple[Path, ...] = ()
    configs: tuple[Path, ...] = ()
    """Fragments of the configuration beside ours."""
    tick: int = 100
    """Ticks a second (HZ)."""

    def ingredients(self) -> dict[str, Any]:
        """What decides about the kernel's image, besides the source."""
        return {
            "format": FORMAT,
            "hz": self.tick,
            "compiler": compiler(),
            "fragments": [checksum(each) for each in (FRAGMENT, *self.configs)],
            "patches": [checksum(each) for each in (SEED, NOTIFY, *self.patches)],
        }

    def is_of(self, kernel: Kernel) -> bool:
        """Whether a kernel was made of the same, in so far as that is known without the source."""
        source = kernel.record.get("source", {})
        same_source = source.get("release") == self.release and (
            source.get("tree") == (str(self.tree) if self.tree else None)
        )
        return same_source and kernel.record.get("ingredients") == self.ingredients()


def key(ingredients: dict[str, Any], source: str) -> str:
    """The checksum of everything that an image was made of."""
    text = json.dumps({**ingredients, "source": source}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def guest_key() -> str:
    """The checksum of everything that the guest's program is made of."""
    sources = [checksum(each) for each in sorted(GUEST.glob("*.[ch]"))]
    return hashlib.sha256(json.dumps([compiler(), sources]).encode()).hexdigest()


def compiler() -> str:
    """The version of the compiler and of the linker, as they say it."""
    return "; ".join(call([tool, "--version"], DATA)[0] for tool in (COMPILER, "ld"))


def checksum(file: Path) -> str:
    """SHA-256 of a file."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise MarqueueError(f"{file}: {error.strerror}") from None
