"""The configuration of a kernel: everything off but what fragments ask for."""

import re
from pathlib import Path

from marqueue.errors import MarqueueError
from marqueue.kernels.commands import call

_DECLARED = re.compile(r"(?m)^\s*(?:menu)?config (\w+)$")


def configure(tree: Path, fragments: list[Path]) -> list[str]:
    """Writes ``.config`` of a tree; returns the options that this kernel does not have.

    Raises MarqueueError if an option that it has did not come out as a fragment asks, because it
    depends on another.
    """
    wanted: dict[str, str] = {}
    for fragment in fragments:
        try:
            text = fragment.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MarqueueError(f"--config {fragment}: {error}") from None
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                name, equals, value = line.strip().partition("=")
                if not equals or not name.startswith("CONFIG_"):
                    raise MarqueueError(
                        f"{fragment} line {number}: got {line}, expected CONFIG_NAME=VALUE"
                    )
                wanted[name] = value
    together = tree / ".fragments"
    lines = "".join(f"{name}={value}\n" for name, value in wanted.items())
    together.write_text(lines, encoding="utf-8")
    call(["make", "ARCH=um", "allnoconfig"], tree, {"KCONFIG_ALLCONFIG": str(together)})
    written = (tree / ".config").read_text(encoding="utf-8").splitlines()
    got = dict(line.split("=", 1) for line in written if "=" in line)
    missed = [name for name, value in wanted.items() if got.get(name, "n") != value]
    declared = _declared(tree) if missed else set()
    unmet = [name for name in missed if name.removeprefix("CONFIG_") in declared]
    if unmet:
        raise MarqueueError(
            f"configuration: {', '.join(f'{each}={wanted[each]}' for each in unmet)} could not be "
            "set: what they depend on is not set"
        )
    return sorted(missed)


def _declared(tree: Path) -> set[str]:
    return {
        name
        for file in tree.rglob("Kconfig*")
        if file.is_file()
        for name in _DECLARED.findall(file.read_text(encoding="utf-8", errors="replace"))
    }
