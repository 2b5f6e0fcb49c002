"""Source packages of Debian, by an apt whose lists and cache are its own.

The system's configuration of apt is neither read nor changed, except for its proxy and the like
(apt.conf); nothing is installed, and no root is needed.
"""

import subprocess
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.commands import call
from marqueue.kernels.releases import KEYRING


class Apt:
    """apt-get with a state of its own in a folder."""

    def __init__(self, folder: Path, suites: tuple[str, ...], sources: bool = False) -> None:
        """``sources`` is whether source packages are asked for."""
        if not Path(KEYRING).exists():
            raise MarqueueError(
                f"{KEYRING}: not found, expected the keys of Debian's archive (Debian and Ubuntu: "
                "apt-get install debian-archive-keyring); or build a tree of your own with --tree"
            )
        self.folder = folder
        kind = "deb-src" if sources else "deb"
        for each in ("lists/partial", "cache/archives/partial"):
            (folder / each).mkdir(parents=True, exist_ok=True)
        listed = "".join(f"{kind} [signed-by={KEYRING}] {suite} main\n" for suite in suites)
        (folder / "sources.list").write_text(listed, encoding="utf-8")
        self.options = [
            word
            for key, value in {
                "Dir::Etc::sourcelist": folder / "sources.list",
                "Dir::Etc::sourceparts": "-",
                "Dir::Etc::preferences": "-",
                "Dir::Etc::preferencesparts": "-",
                "Dir::State::lists": folder / "lists",
                "Dir::Cache": folder / "cache",
                "Acquire::Languages": "none",
                "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
                "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
                # As root, apt would fetch as a user who may not write here.
                "APT::Sandbox::User": "root",
                "APT::Get::List-Cleanup": "false",
            }.items()
            for word in ("-o", f"{key}={value}")
        ]
        self._run("update", "-qq")

    def _run(self, *words: str, folder: Path | None = None) -> None:
        call(["apt-get", *self.options, *words], folder or self.folder)

    def package(self, name: str, into: Path) -> Path:
        """Downloads the newest version of a binary package, which apt verifies."""
        into.mkdir(parents=True, exist_ok=True)
        self._run("download", "-qq", name, folder=into)
        [found] = into.glob(f"{name}_*.deb")
        return found

    def depends(self, name: str) -> list[str]:
        """The packages that the newest version of a binary package depends on."""
        lines = call(["apt-cache", *self.options, "depends", name], self.folder)
        return [line.split()[-1] for line in lines if line.strip().startswith("Depends:")]

    def original_source(self, name: str, into: Path) -> Path:
        """Downloads the upstream part of the newest source package, which apt verifies."""
        into.mkdir(parents=True, exist_ok=True)
        self._run("source", "-qq", "--download-only", "--tar-only", name, folder=into)
        [found] = into.glob(f"{name}_*.orig.tar.*[a-z0-9]")
        return found


def unpack_kernel(package: Path, name: str, into: Path) -> Path:
    """Unpacks the kernel's tree out of a package linux-source; returns its folder."""
    archive = into / f"{name}.tar.xz"
    with archive.open("wb") as file:
        files = subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE
        )
        done = subprocess.run(
            ["tar", "-xO", f"./usr/src/{name}.tar.xz"],
            stdin=files.stdout,
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
        )
        if files.wait() or done.returncode:
            raise MarqueueError(
                f"{package.name}: expected the file /usr/src/{name}.tar.xz in it: "
                f"{done.stderr.decode(errors='replace').strip()}"
            )
    call(["tar", "-xJf", str(archive)], into)
    archive.unlink()
    return into / name
