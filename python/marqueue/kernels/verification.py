"""Whether a kernel works: it is booted without a network, and says what it has.

Its time is virtual (``time-travel=inf-cpu``): waiting costs nothing.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.cache import Kernel
from marqueue.kernels.recipe import checksum

MEMORY = "64M"
PATIENCE = 120
"""Seconds after which a kernel hangs. One that works takes one, or ten on a busy machine."""

QDISCS = {
    "bfifo": "",
    "cake": "bandwidth 10mbit",
    "choke": "limit 100 bandwidth 10mbit min 10 max 30 avpkt 1500 burst 20",
    "codel": "",
    "drr": "",
    "dualpi2": "",
    "ets": "bands 2",
    "fq": "",
    "fq_codel": "",
    "fq_pie": "",
    "hfsc": "default 1",
    "hhf": "",
    "htb": "default 1",
    "netem": "delay 1ms",
    "pfifo": "",
    "pfifo_fast": "",
    "pie": "",
    "prio": "",
    "qfq": "",
    "red": "limit 150000 min 15000 max 45000 avpkt 1500 burst 20",
    "sfb": "",
    "sfq": "",
    "tbf": "rate 10mbit burst 5kb limit 100kb",
}
"""The qdiscs that are tried, with the arguments that they need."""

ENVIRONMENT = {"PATH": os.defpath, "HOME": ".", "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
"""Linux 6.1 unmaps from its processes what the C library registers for restartable sequences
(rseq), and a host that writes there ends them."""

UNFIT = "ptrace set fp regs failed"
"""What a kernel says whose processes cannot get their floating-point registers back."""

CONTROLS = "/proc/sys/net/ipv4/tcp_available_congestion_control"
_TEXT = re.compile(r"(?ms)^guest: text (\d+), status (\d+)\n(.*?)^guest: end of text \1$")


class UnfitProcessor(MarqueueError):
    """A kernel that does not run on the processor of this machine."""


@dataclass(frozen=True)
class Verification:
    """What a kernel said."""

    kernel: Kernel
    seconds: float
    """Of wall time, from its start to its end."""
    version: str
    congestion_controls: tuple[str, ...]
    qdiscs: tuple[str, ...]
    """None of them if there is no tc."""


def verify(kernel: Kernel) -> Verification:
    """Boots a kernel. Raises MarqueueError if it has changed, does not boot, or hangs."""
    for what, file in (("checksum", kernel.image), ("guest_checksum", kernel.guest_init)):
        if checksum(file) != kernel.record[what]:
            raise MarqueueError(
                f"kernel {kernel.name}: {file} has changed since it was built; build it again "
                "with: marqueue kernel build"
            )
    tried = list(QDISCS.items()) if kernel.tc else []
    lines = ["clock-origin 1000000000"]
    lines += [f"try tc qdisc replace dev lo root {name} {given}" for name, given in tried]
    lines += ["report-at 0 file /proc/sys/kernel/osrelease", f"report-at 0 file {CONTROLS}"]
    lines += ["power-off 1000000", ""]
    began = time.monotonic()
    console = boot(kernel, "\n".join(lines))
    seconds = time.monotonic() - began
    texts = _texts(console)
    if len(texts) != len(tried) + 2 or "guest: ready" not in console:
        raise MarqueueError(f"kernel {kernel.name}: did not come to its end\n{_last(console)}")
    (_, version), (_, controls) = texts[-2:]
    return Verification(
        kernel,
        seconds,
        version.strip(),
        tuple(sorted(controls.split())),
        tuple(name for (name, _), (status, _) in zip(tried, texts, strict=False) if status == 0),
    )


def boot(kernel: Kernel, plan: str, seed: int = 1) -> str:
    """What a kernel prints on its console while it carries out a plan that powers it off.

    Raises MarqueueError if it hangs, UnfitProcessor if it does not run on this processor.
    """
    with tempfile.TemporaryDirectory(prefix="marqueue-kernel-") as name:
        folder = Path(name)
        (folder / "plan").write_text(plan, encoding="utf-8")
        _pack(kernel, folder)
        words = [
            # The size of the memory of Linux 6.1 depends on where the host puts its heap.
            "setarch",
            "--addr-no-randomize",
            str(kernel.image),
            f"mem={MEMORY}",
            "initrd=initramfs",
            "init=/init",
            "con=null",
            "con0=fd:0,fd:1",
            "quiet",
            f"um_seed={seed}",
            "time-travel=inf-cpu",
            # Else the host's time of day enters the kernel's random numbers.
            "time-travel-start=0",
            # Relative, as all paths: the command line enters the kernel's random numbers.
            "uml_dir=uml",
        ]
        if kernel.seccomp:
            words.append("seccomp=on")
        with subprocess.Popen(
            words,
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                raise MarqueueError(
                    f"kernel {kernel.name}: did not end within {PATIENCE} s"
                ) from None
            finally:
                # A guest is several processes of the host.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    console = printed.decode(errors="replace").replace("\r\n", "\n")
    if UNFIT in console:
        raise UnfitProcessor(
            f"kernel {kernel.name}: does not run on this processor, which has more registers (such "
            "as those of AMX) than user-mode Linux saves that holds its processes by ptrace; "
            "expected linux-7.3 or later, which holds them by seccomp"
        )
    return console


def _pack(kernel: Kernel, folder: Path) -> None:
    """Writes the initramfs, by the kernel's own program for that."""
    lines = [
        "dir /dev 755 0 0",
        "nod /dev/console 600 0 0 c 5 1",
        "dir /sbin 755 0 0",
        f"file /init {kernel.guest_init} 755 0 0",
        "file /plan plan 644 0 0",
    ]
    if kernel.tc:
        lines.append(f"file /sbin/tc {kernel.tc} 755 0 0")
    (folder / "list").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run([kernel.archiver, "list"], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise MarqueueError(
            f"kernel {kernel.name}: gen_init_cpio: {done.stderr.decode(errors='replace').strip()}"
        )
    (folder / "initramfs").write_bytes(done.stdout)


def _texts(console: str) -> list[tuple[int, str]]:
    """Of each text that the guest printed its status and itself, in the order of their numbers."""
    texts = {int(each[1]): (int(each[2]), each[3]) for each in _TEXT.finditer(console)}
    return [texts[number] for number in sorted(texts)]


def _last(console: str) -> str:
    return "\n".join(console.strip().splitlines()[-15:])
