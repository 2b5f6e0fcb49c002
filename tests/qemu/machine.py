"""A virtual machine with Debian's newest kernel, in virtual time: for programs that the kernel of
this machine does not take.

qemu counts instructions as time (-icount), so that a busy host does not make the machine late, and
a run is equal to the one before it, bit for bit. For that two things are needed besides. Its files
have to be the same, with their times and numbers: reading them takes instructions, and random
numbers of the kernel follow from when something happens. And its processor must not wait: when it
halts, another thread of qemu moves the clock to the next timer, by a count of instructions to which
those since the last timer may not have been added yet. So a process of the lowest priority computes
whenever nothing else does (init.sh). What qemu draws for the machine has a seed, because some
versions of it give the kernel a random number.

The machine has no disk and no network: its files are an archive that is made here, of busybox, of a
few programs of this machine with their libraries, and of modules of the kernel.

``python tests/qemu/machine.py`` gets the kernel from Debian's archive, some 40 MB, into the cache.
"""

import gzip
import lzma
import platform
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.cache import root
from marqueue.kernels.debian import Apt
from marqueue.kernels.releases import ARCHIVE

SUITES = (f"{ARCHIVE} trixie-backports",)
PACKAGE = "linux-image-cloud-amd64"
"""Of the newest kernel: the package that depends on the one with its version in its name."""

QEMU = "qemu-system-x86_64"
PROGRAMS = ("busybox", "dash", "nsenter", "ip", "tc", "iperf3", "strace", "chrt")
MODULES = ("veth", "sch_tbf", "cls_bpf", "sch_ingress")
HERE = Path(__file__).parent

ALWAYS = "-nodefaults -display none -serial stdio -no-reboot "
VIRTUAL_TIME = ALWAYS + (
    "-accel tcg -icount shift=1,sleep=off -rtc base=2026-01-01T00:00:00,clock=vm "
    "-cpu qemu64,-rdrand -seed 1 -smp 1 -m 512"
)
TWO_PROCESSORS = ALWAYS + "-accel tcg -cpu max -smp 2 -m 1024"
"""In real time: qemu counts the instructions of one processor only. What compilers take for granted
today, such as in NumPy, ``qemu64`` does not have."""
ARGUMENTS = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=off"


def cache() -> Path:
    """The folder of the kernel: its image, ``vmlinuz``, and its modules."""
    return root().parent / "debian-kernel"


def missing() -> str | None:
    """What a machine needs and is not here."""
    if platform.machine() != "x86_64":
        return "a machine is made on x86_64"
    lacking = [each for each in (QEMU, *PROGRAMS) if not shutil.which(each)]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    return (
        None if (cache() / "vmlinuz").exists() else "no kernel of Debian is here (make test-qemu)"
    )


def fetch() -> Path:
    """Gets the kernel, which apt verifies, if it is not there; returns :func:`cache`.

    Raises MarqueueError.
    """
    if (cache() / "vmlinuz").exists():
        return cache()
    work = cache().with_name(".debian-kernel.work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        apt = Apt(work / "apt", SUITES)
        [image] = [each for each in apt.depends(PACKAGE) if each.startswith("linux-image-")]
        for kind in ("linux-binary-unsigned", "linux-modules"):
            package = apt.package(image.replace("linux-image", kind), work / "packages")
            subprocess.run(["dpkg-deb", "-x", package, work / "files"], check=True)
        [modules] = (work / "files" / "usr" / "lib" / "modules").iterdir()
        (modules / "vmlinuz.unsigned").rename(modules / "vmlinuz")
        shutil.rmtree(cache(), ignore_errors=True)
        modules.rename(cache())
    except ValueError:
        raise MarqueueError(f"{PACKAGE}: its packages are not as expected") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return cache()


def archive(
    script: Path, programs: tuple[Path, ...], into: Path, modules: tuple[str, ...] = MODULES
) -> Path:
    """Makes the machine's files, in which ``script`` is what it runs, and adds to those that are in
    ``into / "files"``; returns the archive."""
    files = into / "files"
    for each in ("bin", "modules", "applets", "proc", "sys", "dev", "run", "tmp"):
        (files / each).mkdir(parents=True, exist_ok=True)
    for program in (*(Path(str(shutil.which(each))) for each in PROGRAMS), *programs):
        put(program, files / "bin" / program.name)
        for library in libraries(program):
            if not (files / library.relative_to("/")).exists():
                put(library, files / library.relative_to("/"))
    (files / "bin" / "sh").symlink_to("dash")
    for name in modules:
        [module] = (cache() / "kernel").rglob(f"{name}.ko.xz")
        (files / "modules" / f"{name}.ko").write_bytes(lzma.decompress(module.read_bytes()))
    shutil.copy(HERE / "init.sh", files / "init")
    (files / "init").chmod(0o755)
    shutil.copy(script, files / "script.sh")
    made = into / "files.gz"
    made.write_bytes(gzip.compress(packed(files), 1, mtime=0))
    return made


def packed(folder: Path) -> bytes:
    """The files below a folder as the kernel unpacks them (cpio's format newc, the kernel's
    Documentation/driver-api/early-userspace/buffer-format.rst), with the same bytes whenever and
    wherever they were made: of root, of one time, numbered by their names."""
    files = sorted(folder.rglob("*"))
    entries = [
        _entry(number, str(file.relative_to(folder)), file.lstat().st_mode, _content(file))
        for number, file in enumerate(files, 1)
    ]
    return b"".join([*entries, _entry(0, "TRAILER!!!", 0, b"")])


def _content(file: Path) -> bytes:
    if file.is_symlink():
        return str(file.readlink()).encode()
    return file.read_bytes() if file.is_file() else b""


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    """A file of an archive: header, name and content, each filled up to a multiple of 4 bytes."""
    links = 2 if stat.S_ISDIR(mode) else 1
    owner, group, time, devices = 0, 0, 0, (0, 0, 0, 0)
    fields = (number, mode, owner, group, links, time, len(content), *devices, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08x" % each for each in fields)
    return b"".join(
        part + bytes(-len(part) % 4) for part in (header + name.encode() + b"\0", content)
    )


def put(file: Path, to: Path) -> None:
    """Copies a program or a library without what only a debugger reads."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "--strip-debug", "-o", to, file.resolve()], check=True)
    to.chmod(0o755)


def libraries(program: Path) -> list[Path]:
    """The libraries of a program, and what loads them."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(word) for word in told.split() if word.startswith("/")]


def boot(files: Path, seconds: float, options: str = VIRTUAL_TIME) -> str:
    """Runs a machine to its end; returns what it printed. Raises TimeoutExpired."""
    kernel = ("-kernel", str(cache() / "vmlinuz"), "-initrd", str(files), "-append", ARGUMENTS)
    done = subprocess.run(
        [QEMU, *options.split(), *kernel],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=True,
    )
    return done.stdout.replace("\r", "")


if __name__ == "__main__":
    try:
        print(fetch())
    except MarqueueError as error:
        sys.exit(str(error))
