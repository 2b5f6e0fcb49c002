"""tc of iproute2 as one static executable, for guests: from the source that Debian has.

The same one is for all kernels; it is kept in the cache.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.cache import ASIDE, root
from marqueue.kernels.commands import call
from marqueue.kernels.debian import Apt
from marqueue.kernels.recipe import checksum
from marqueue.kernels.releases import TC_PACKAGE, TC_SUITES


def build_tc(into: Path, say: Callable[[str], None]) -> dict[str, str] | None:
    """Puts tc at this path; returns its version and checksum. None where there is no apt."""
    kept = root() / f"{ASIDE}tc"
    if not (kept / "version").exists():
        if not shutil.which("apt-get"):
            say("No tc: its source is got by apt-get. Routers need it, hosts do not.")
            return None
        _make(kept)
    shutil.copy2(kept / "tc", into)
    version = (kept / "version").read_text(encoding="utf-8")
    return {"version": version, "checksum": checksum(into)}


def _make(kept: Path) -> None:
    work = root() / f"{ASIDE}tc.work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        apt = Apt(work / "apt", TC_SUITES, sources=True)
        archive = apt.original_source(TC_PACKAGE, work / "source")
        call(["tar", "-xf", archive.name], archive.parent)
        [tree] = (each for each in archive.parent.iterdir() if each.is_dir())
        # No libraries beyond that of C: without pkg-config none is found.
        call(["sh", "configure"], tree, {"PKG_CONFIG": "false"})
        call(["make", "SUBDIRS=lib tc", "SHARED_LIBS=n", "LDFLAGS=-static"], tree)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        call(["strip", "-o", str(kept / "tc"), "tc/tc"], tree)
        (kept / "version").write_text(tree.name.removeprefix("iproute2-"), encoding="utf-8")
    except ValueError:
        raise MarqueueError("iproute2: its source is not as expected") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
