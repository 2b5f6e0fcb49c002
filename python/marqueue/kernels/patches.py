"""Changes to a kernel's source: ours, the tick, and patches of a user's own."""

import re
import shutil
import tempfile
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.commands import call

DATA = Path(__file__).parent / "data"
SEED = DATA / "linux" / "um_seed.patch"
SEED_FILE = "arch/um/os-Linux/util.c"
NOTIFY = DATA / "linux" / "shm_notify.patch"
"""Makes runs twice as fast. A kernel without it runs all the same, so it need not fit."""
NOTIFY_FILE = "include/uapi/linux/um_timetravel.h"
TICK_FILE = "arch/um/Kconfig"

_TICK = re.compile(r"(?m)^(config HZ\n\tint\n\tdefault) \d+$")
_NAMED = re.compile(r"(?m)^(?:---|\+\+\+) (\S+)")


def touched(patch: Path) -> set[str]:
    """The paths of the files that a patch (of ``patch -p1``) changes, adds or removes."""
    try:
        text = patch.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MarqueueError(f"--patch {patch}: {error.strerror}") from None
    named = {each.partition("/")[2] for each in _NAMED.findall(text) if each != "/dev/null"}
    if not named:
        raise MarqueueError(f"--patch {patch}: names no file, expected a unified diff")
    if any(not each or ".." in each.split("/") for each in named):
        raise MarqueueError(f"--patch {patch}: expected paths below the tree, as of git diff")
    return named


def replaced(patches: list[Path]) -> frozenset[str]:
    """The paths of all files that :func:`apply` may change, add or remove."""
    return frozenset({TICK_FILE}.union(*(touched(each) for each in (SEED, NOTIFY, *patches))))


def apply(tree: Path, work: Path, patches: list[Path], tick: int) -> bool:
    """Writes what changes of ``tree`` into ``work``, which may be the same folder.

    Files that come out as they are there already are not written, so that make sees no change.
    Returns whether guests will do without messages.
    """
    paths = replaced(patches)
    with tempfile.TemporaryDirectory(dir=work.parent) as name:
        there = Path(name)
        for path in paths:
            if (tree / path).is_file():
                (there / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(tree / path, there / path)
        # A tree that has the parameter needs no patch for it.
        if "um_seed=" not in (there / SEED_FILE).read_text(encoding="utf-8"):
            _patch(there, SEED)
        notifies = _make_notify(there)
        for each in patches:
            _patch(there, each)
        _set_tick(there / TICK_FILE, tick)
        for path in paths:
            new, old = there / path, work / path
            if not new.exists():
                old.unlink(missing_ok=True)
            elif not old.exists() or old.read_bytes() != new.read_bytes():
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(new, old)
    return notifies


def _make_notify(folder: Path) -> bool:
    """Applies NOTIFY if it fits. Returns whether the source has it then."""
    file = folder / NOTIFY_FILE
    source = file.read_text(encoding="utf-8") if file.exists() else ""
    if "UM_TIMETRAVEL_SCHEDSHM_CAP_NOTIFY" in source:
        return True
    try:
        _patch(folder, NOTIFY, "--dry-run")
    except MarqueueError:
        return False
    _patch(folder, NOTIFY)
    return True


def _patch(folder: Path, patch: Path, *more: str) -> None:
    options = [
        "--strip=1",
        "--forward",
        "--batch",
        "--no-backup-if-mismatch",
        "--remove-empty-files",
    ]
    call(["patch", *options, *more, f"--input={patch.resolve()}"], folder)


def _set_tick(file: Path, tick: int) -> None:
    """The tick has no prompt in the configuration of a user-mode kernel."""
    text, count = _TICK.subn(rf"\g<1> {tick}", file.read_text(encoding="utf-8"))
    if not count:
        raise MarqueueError(f"--hz {tick}: {TICK_FILE} has no default of HZ to change")
    file.write_text(text, encoding="utf-8")
