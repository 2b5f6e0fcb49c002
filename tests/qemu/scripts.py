"""Scripts of this folder in the machine, and what they print.

``MARQUEUE_QEMU_SECONDS`` is how long each measurement takes in the machine.
"""

import os
import re
from pathlib import Path

import pytest

import machine

SECONDS = int(os.environ.get("MARQUEUE_QEMU_SECONDS", "4"))
ATTACH = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "debug" / "examples" / "attach"

WHY_NOT = machine.missing() or (None if ATTACH.exists() else f"{ATTACH} is not built")
needs_machine = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def console(name: str, folder: Path, seconds: int = SECONDS, most: float | None = None) -> str:
    """What a machine of its own prints that runs the script of this name, with measurements of so
    many seconds, in at most ``most`` seconds. Its files stay in ``folder``."""
    script = folder / "script.sh"
    text = (machine.HERE / name).read_text(encoding="utf-8")
    script.write_text(text.replace("@SECONDS@", str(seconds)), encoding="utf-8")
    # Ten times what qdisc.sh takes on an idle machine.
    most = most or 10 * (20 + 5 * seconds)
    printed = machine.boot(machine.archive(script, (ATTACH,), folder), most)
    (folder / "console").write_text(printed, encoding="utf-8")
    assert "== end" in printed, printed[-2000:]
    return printed


def sections(printed: str) -> dict[str, str]:
    """What was printed behind each line ``== NAME``."""
    parts = re.split(r"^== (.*)$", printed, flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def numbers(text: str) -> dict[str, float]:
    """Lines of a name and a number."""
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.]+)$", text, re.M)}
