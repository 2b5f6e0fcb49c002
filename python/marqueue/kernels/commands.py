"""Other programs: whether they are there, and running them to their end."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from marqueue.errors import MarqueueError

COMPILER = "gcc"

BUILD_TOOLS = {
    "make": "make",
    COMPILER: "gcc",
    "ld": "binutils",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
}
"""What every build uses, and the Debian packages that have it."""

DEBIAN_TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar", "xz": "xz-utils"}
"""What gets and unpacks sources of Debian."""

LINES_SHOWN = 15
"""Of the output of a program that failed."""

INHERITED = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "CFLAGS", "LDFLAGS")
"""Variables that would change a build, such as those of a make that runs this."""


def require_tools(tools: Mapping[str, str]) -> None:
    """Raises MarqueueError with all of these that are missing."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        packages = sorted({tools[tool] for tool in missing})
        raise MarqueueError(
            f"{', '.join(missing)}: not found, expected on the PATH to build a kernel "
            f"(Debian: apt-get install {' '.join(packages)})"
        )


def call(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    line: Callable[[str], None] | None = None,
) -> list[str]:
    """Runs a program and returns its lines; ``line`` is called with each as it comes.

    Raises MarqueueError with what it printed of errors if it fails. When this is interrupted, the
    program and what it started end too.
    """
    printed: list[str] = []
    with _group(words, folder, environment or {}) as process:
        assert process.stdout
        for each in process.stdout:
            printed.append(each.rstrip())
            if line is not None:
                line(each)
    if process.returncode:
        end = "\n".join(_telling(printed))
        raise MarqueueError(f"{' '.join(words[:3])}: exit code {process.returncode}\n{end}")
    return printed


def _telling(lines: list[str]) -> list[str]:
    """The lines that say why a program failed: the first about errors, or the last of all."""
    errors = [each for each in lines if "rror" in each or "rejects" in each or "FAILED" in each]
    return errors[:LINES_SHOWN] or lines[-LINES_SHOWN:]


@contextmanager
def _group(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[str]"]:
    """A program in a process group of its own, which ends with this."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in INHERITED and not key.startswith(("KBUILD_", "KCONFIG_"))
    }
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**inherited, "LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        yield process
        process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout
        process.stdout.close()
