"""The cache of kernels: a folder each, which is there when it is whole."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marqueue.errors import MarqueueError, show
from marqueue.kernels.releases import RELEASES

RECORD = "kernel.json"
FORMAT = 1
"""Of the record. A kernel of another format counts as not built."""

FIRST_HOST = (6, 11)
"""The first Linux whose clock as a guest is shared memory (include/uapi/linux/um_timetravel.h). The
simulator has no other clock for its end hosts."""

ASIDE = "."
"""What names of folders begin with that are no kernels: work that is under way."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that has been built."""

    name: str
    folder: Path
    record: dict[str, Any]
    """What kernel.json says."""

    @property
    def image(self) -> Path:
        """The kernel, an executable."""
        return self.folder / "linux"

    @property
    def guest_init(self) -> Path:
        """The program that is the guest's first process: a static executable."""
        return self.folder / "guest-init"

    @property
    def tc(self) -> Path | None:
        """tc of iproute2: a static executable, for the guest's ``/sbin``. None if the kernel was
        built where its source could not be got."""
        return self.folder / "tc" if self.record.get("tc") else None

    @property
    def archiver(self) -> Path:
        """The kernel's own program that packs files for its initramfs."""
        return self.folder / "gen_init_cpio"

    @property
    def version(self) -> str:
        """As the kernel says it: 7.3.4."""
        return str(self.record["version"])

    @property
    def checksum(self) -> str:
        """SHA-256 of the image."""
        return str(self.record["checksum"])

    @property
    def identity(self) -> str:
        """The checksums of all that runs in a guest: with the same, results are the same."""
        return f"{self.checksum} {self.record.get('guest_checksum')}"

    @property
    def paths(self) -> tuple[Path, Path, Path | None]:
        """The files that a guest needs: image, first program, tc."""
        return self.image, self.guest_init, self.tc

    @property
    def seccomp(self) -> bool:
        """Whether it has the parameter ``seccomp=on`` (since 6.16), which is faster than ptrace."""
        return bool(self.record.get("seccomp"))

    @property
    def files(self) -> tuple[Path, ...]:
        """What a folder needs to be a kernel, besides its record."""
        files = (self.image, self.guest_init, self.archiver)
        return files if self.tc is None else (*files, self.tc)


def root() -> Path:
    """The folder of all kernels: ``$XDG_CACHE_HOME/marqueue/kernels``, by default in ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory Specification ignores relative paths.
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "marqueue" / "kernels"


def built() -> list[Kernel]:
    """All kernels that have been built, by name."""
    try:
        names = sorted(each.name for each in root().iterdir())
    except OSError:
        return []
    found = (read(name) for name in names)
    return [each for each in found if each is not None]


def read(name: str) -> Kernel | None:
    """A kernel; None if it has not been built, or by a version of marqueue with another format."""
    if not is_name(name):
        return None
    folder = root() / name
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    kernel = Kernel(name, folder, record)
    return kernel if all(each.is_file() for each in kernel.files) else None


def find(name: str) -> Kernel:
    """A kernel by its name: ``linux-7.3``, or that of a build of one's own.

    Raises MarqueueError, which says how to build it, if it has not been built.
    """
    kernel = read(name)
    if kernel is not None:
        return kernel
    if name in RELEASES:
        raise MarqueueError(
            f"kernel {name}: has not been built; build it with: marqueue kernel build {name} "
            "(some minutes, once)"
        )
    there = ", ".join(each.name for each in built()) or "none"
    raise MarqueueError(
        f"kernel {show(name)}: expected one of {', '.join(RELEASES)}, or one that has been built: "
        f"{there}. One's own tree is built with: marqueue kernel build --tree DIR --name NAME"
    )


def find_host(name: str) -> Kernel:
    """A kernel in which flows can end, by its name.

    Raises MarqueueError, which names those that can, if it cannot be an end host or has not been
    built.
    """
    there = {each.name: each.version for each in built()}
    versions = {key: release.version for key, release in RELEASES.items()} | there
    # Before the advice to build it.
    if name in versions and not _can_be_host(versions[name]):
        able = ", ".join(sorted(each for each in versions if _can_be_host(versions[each])))
        raise MarqueueError(
            f"kernel {name}: Linux {versions[name]} cannot be an end host yet, because its clock "
            f"is not shared memory; expected Linux {_dotted(FIRST_HOST)} or later: {able}"
        )
    return find(name)


def _can_be_host(version: str) -> bool:
    """Whether flows can end in this version of Linux."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is None or tuple(map(int, numbers.groups())) >= FIRST_HOST


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def is_name(name: str) -> bool:
    """Whether a kernel can have this name: a folder's, of letters, digits, dots, hyphens, _."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    return plain.isalnum() and plain.isascii() and not name.startswith((ASIDE, "-"))
