"""Building: from a recipe to a folder in the cache, which is put in place when it is whole."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marqueue.errors import MarqueueError, show
from marqueue.json_text import dump_json
from marqueue.kernels import patches
from marqueue.kernels.cache import ASIDE, FORMAT, RECORD, Kernel, find, is_name, read, root
from marqueue.kernels.commands import BUILD_TOOLS, COMPILER, DEBIAN_TOOLS, call, require_tools
from marqueue.kernels.debian import Apt, unpack_kernel
from marqueue.kernels.iproute2 import build_tc
from marqueue.kernels.kconfig import configure
from marqueue.kernels.recipe import FRAGMENT, GUEST, Recipe, checksum, guest_key, key
from marqueue.kernels.releases import RELEASES
from marqueue.kernels.sources import copy_tree, require_tree

NEEDED = 4 * 10**9
"""Bytes of disk that a build takes while it runs: the source has 1.8 GB, objects 0.3 GB."""

LINES = 1310
"""That the build of a release prints, one for each file compiled (7.3: 1300, 6.1: 1200)."""

REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "marqueue",
    "KBUILD_BUILD_HOST": "marqueue",
    "KBUILD_BUILD_VERSION": "1",
}
"""What a kernel would else take from the machine and the time of its build."""

Say = Callable[[str], None]
Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Told:
    """Where a build reports what it does."""

    say: Say
    progress: Progress


def build(recipe: Recipe, jobs: int, newest: bool, told: Told) -> tuple[Kernel, bool]:
    """The kernel of a recipe, and whether the kernel itself had to be built.

    A release that was built of the same ingredients is current; ``newest`` asks Debian for a newer
    source first. Raises MarqueueError if something that a build needs is missing or fails.
    """
    if not is_name(recipe.name):
        raise MarqueueError(
            f"--name: got {show(recipe.name)}, expected letters, digits, dots, hyphens and _, "
            "beginning with none of the last three"
        )
    # What was asked for first: to install tools for a mistyped folder would be in vain.
    if recipe.tree is not None:
        require_tree(recipe.tree)
    require_tools(BUILD_TOOLS)
    if recipe.tree is None:
        require_tools(DEBIAN_TOOLS)
    for each in recipe.patches:
        patches.touched(each)
    with _only_one(recipe.name):
        there = read(recipe.name)
        if there is not None and recipe.tree is None and recipe.is_of(there) and not newest:
            _renew_guest(there, told)
            return find(recipe.name), False
        _require_space()
        return _build(recipe, jobs, told), True


def _build(recipe: Recipe, jobs: int, told: Told) -> Kernel:
    began = time.monotonic()
    with _work_folder(recipe) as work:
        tree, source = (_own_tree if recipe.tree else _release)(recipe, work, told)
        told.say(f"Configuring {recipe.name}.")
        absent = configure(tree, [FRAGMENT, *recipe.configs])
        told.say(f"Compiling {recipe.name} with {jobs} {'job' if jobs == 1 else 'jobs'}.")
        printed = 0

        def line(_: str) -> None:
            nonlocal printed
            printed += 1
            told.progress(min(printed, LINES), LINES)

        make = ["make", "ARCH=um", f"-j{jobs}", "linux"]
        call(make, tree, REPRODUCIBLE, line)
        [version] = call(["make", "-s", "ARCH=um", "kernelversion"], tree)
        part = root() / f"{ASIDE}{recipe.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        try:
            call(["strip", "-o", str(part / "linux"), "linux"], tree)
            shutil.copy2(tree / "usr" / "gen_init_cpio", part / "gen_init_cpio")
            shutil.copyfile(tree / ".config", part / "config")
            told.say("Compiling the guest's program and tc.")
            _compile_guest(part / "guest-init")
            tc = build_tc(part / "tc", told.say)
            ingredients = recipe.ingredients()
            record = {
                "name": recipe.name,
                "version": version.strip(),
                "checksum": checksum(part / "linux"),
                "key": key(ingredients, source["checksum"]),
                "source": source,
                "ingredients": ingredients,
                "patches": [str(each) for each in recipe.patches],
                "configs": [str(each) for each in recipe.configs],
                "absent": absent,
                "tc": tc,
                "seccomp": "seccomp=" in "".join(call([str(part / "linux"), "--help"], part)),
                "seconds": round(time.monotonic() - began),
                **_guest_record(part / "guest-init"),
            }
            _write_record(part, record)
            _put_in_place(part, root() / recipe.name)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return find(recipe.name)


def _release(recipe: Recipe, work: Path, told: Told) -> tuple[Path, dict[str, Any]]:
    """The source of a release, with its changes, and what the record says of it."""
    assert recipe.release is not None
    release = RELEASES[recipe.release]
    told.say(f"Downloading {release.package} of {release.distribution}.")
    package = Apt(work / "apt", release.suites).package(release.package, work)
    told.say(f"Unpacking {package.name}.")
    tree = unpack_kernel(package, release.package, work)
    notifies = patches.apply(tree, tree, list(recipe.patches), recipe.tick)
    return tree, {
        "notifies": notifies,
        "release": recipe.release,
        "tree": None,
        "package": package.name,
        "checksum": checksum(package),
    }


def _own_tree(recipe: Recipe, work: Path, told: Told) -> tuple[Path, dict[str, Any]]:
    """A copy of a user's tree, with its changes, and what the record says of it."""
    assert recipe.tree is not None
    told.say(f"Copying what has changed in {recipe.tree}.")
    tree = work / "tree"
    tree.mkdir(exist_ok=True)
    replaced = patches.replaced(list(recipe.patches))
    content = copy_tree(recipe.tree, tree, work / "index.json", replaced)
    notifies = patches.apply(recipe.tree, tree, list(recipe.patches), recipe.tick)
    if not notifies:
        told.say(
            f"{patches.NOTIFY.name} does not fit this source: runs will take twice as long, "
            "with the same results."
        )
    return tree, {
        "release": None,
        "tree": str(recipe.tree),
        "package": None,
        "checksum": content,
        "notifies": notifies,
    }


@contextmanager
def _work_folder(recipe: Recipe) -> Iterator[Path]:
    """Where a kernel is built. That of one's own tree stays, so that the next build is short."""
    work = root() / f"{ASIDE}{recipe.name}.work"
    if recipe.tree is None:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    try:
        yield work
    finally:
        if recipe.tree is None:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _only_one(name: str) -> Iterator[None]:
    """Raises MarqueueError if another process builds this kernel."""
    root().mkdir(parents=True, exist_ok=True)
    with (root() / f"{ASIDE}{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MarqueueError(f"kernel {name}: another process builds it just now") from None
        yield


def _require_space() -> None:
    free = shutil.disk_usage(root()).free
    if free < NEEDED:
        raise MarqueueError(
            f"{root()}: {free / 1e9:.1f} GB are free, expected {NEEDED / 1e9:.0f} GB to build a "
            "kernel; XDG_CACHE_HOME names another place"
        )


def _compile_guest(into: Path) -> None:
    sources = sorted(str(each) for each in GUEST.glob("*.c"))
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-s", "-o", str(into)]
    try:
        call([COMPILER, *options, *sources], GUEST)
    except MarqueueError as error:
        raise MarqueueError(
            f"{error}\nexpected a C library for static programs (libc6-dev)"
        ) from None


def _guest_record(program: Path) -> dict[str, str]:
    return {"guest_checksum": checksum(program), "guest_key": guest_key()}


def _renew_guest(kernel: Kernel, told: Told) -> None:
    """Compiles the guest's program again if its source has changed."""
    if kernel.record.get("guest_key") == guest_key():
        return
    told.say("Compiling the guest's program, which has changed.")
    part = kernel.folder / f"{ASIDE}guest-init"
    _compile_guest(part)
    record = {**kernel.record, **_guest_record(part)}
    part.replace(kernel.guest_init)
    _write_record(kernel.folder, record)


def _write_record(folder: Path, record: dict[str, Any]) -> None:
    part = folder / f"{ASIDE}{RECORD}"
    part.write_text(dump_json({"format": FORMAT, **record}, sort_keys=False), encoding="utf-8")
    part.replace(folder / RECORD)


def _put_in_place(part: Path, place: Path) -> None:
    """The old kernel of this name is there until the new one is."""
    old = place.with_name(f"{ASIDE}{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    with suppress(FileNotFoundError):
        place.rename(old)
    part.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))
