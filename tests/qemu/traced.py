"""The files that a command of this machine opens, for a machine that is to run the same command."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

OF_THIS_MACHINE = ("/dev", "/proc", "/run", "/sys", "/tmp")
"""What another machine has of its own."""


def files_of(command: Sequence[str], folder: Path) -> set[Path]:
    """The files that the command and its children open or execute. It has to succeed, but may be
    too slow for a valid result (exit code 4)."""
    trace = folder / "trace"
    calls = ("-e", "trace=open,openat,execve", "-e", "signal=none")
    done = subprocess.run(["strace", "-f", "-qq", "-z", *calls, "-o", trace, *command], check=False)
    assert done.returncode in (0, 4)
    named = set(re.findall(r'"(/[^"]*)"', trace.read_text(errors="replace")))
    there = {Path(each) for each in named if not each.startswith(OF_THIS_MACHINE)}
    return {file for file in there if file.is_file()}


def copy(files: set[Path], root: Path) -> None:
    """Copies them below another root, by the same names. What Python has compiled goes where a
    module without a source is: beside its source it would have to be as old as that says."""
    for file in files:
        to = file
        if file.parent.name == "__pycache__":
            source = file.parent.parent / f"{file.name.partition('.')[0]}.py"
            if source in files:
                # It was read because what is compiled was out of date.
                continue
            to = source.with_suffix(".pyc")
        to = root / to.relative_to("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
