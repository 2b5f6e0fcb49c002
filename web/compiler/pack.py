"""Packs what the scenario compiler needs of Python for the browser. ``pack.mjs`` runs this under
the very Python that unpacks it.

Modules are found by using the compiler: whatever was imported then is packed, as bytecode, so that
nothing is compiled when a page opens.
"""

import json
import sys
import zipfile
from collections.abc import Iterator
from importlib._bootstrap_external import _code_to_hash_pyc  # type: ignore[attr-defined]
from pathlib import Path

SITE = Path("/site")
"""The wheels, unpacked, with the package marqueue."""

OUT = Path("/out")

WHOLE = ("pydantic", "pydantic_core", "tomli_w", "annotated_types", "typing_inspection")
"""Packages that are packed with modules that only rare errors import."""

LEFT_OUT = ("pydantic/v1/", "pydantic/mypy.py", "pydantic/_hypothesis_plugin.py")

MISTAKES = (
    "a = [1",
    "name = 1",
    'name = "x"\nduration = "1 parsec"',
    'name = "x"\ntopology = { kind = "dumbel" }',
    "trafic = 1",
)
"""Scenarios with mistakes, so that what messages need is imported too."""


def use() -> None:
    """Uses every function of the compiler."""
    import marqueue_page

    def call(name: str, argument: object) -> object:
        return json.loads(marqueue_page.call(name, json.dumps(argument)))["value"]

    examples = call("examples", None)
    assert isinstance(examples, list)
    assert len(examples) > 10
    for example in examples:
        outline = call("compile", example["toml"])
        assert isinstance(outline, dict)
        assert outline["ok"], (example["name"], outline)
        call("to_toml", outline["compiled"]["normalized"])
        call("to_python", outline["compiled"]["normalized"])
        assert call("theory", example["toml"])
    for text in MISTAKES:
        assert not call("compile", text)["ok"]  # type: ignore[index]
    call("schema", None)


def bytecode(source: bytes, name: str, optimize: int = 2) -> bytes:
    """A ``.pyc`` of a source, by default without docstrings. Python does not check it against the
    source."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=optimize)
    return bytes(_code_to_hash_pyc(code, b"\0" * 8, checked=False))


def write(path: Path, files: dict[str, bytes]) -> None:
    """A zip file of the files, the same bytes each time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED, 9)


def library(names: set[str]) -> Iterator[tuple[str, bytes]]:
    """The files of the standard library that were imported."""
    with zipfile.ZipFile(next(path for path in sys.path if path.endswith(".zip"))) as archive:
        for name in archive.namelist():
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if name.endswith(".py") and module in names:
                yield name.replace(".py", ".pyc"), bytecode(archive.read(name), name)


def packages(names: set[str]) -> Iterator[tuple[str, bytes]]:
    """The files of other packages: what was imported, and all of some packages."""
    for path in sorted(SITE.rglob("*")):
        name = str(path.relative_to(SITE))
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if name.startswith(LEFT_OUT) or not path.is_file():
            continue
        if name.startswith("marqueue") and module in names:
            # pydantic reads what keys mean in the source.
            cached = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
            yield name, path.read_bytes()
            yield str(cached.relative_to(SITE)), bytecode(path.read_bytes(), name, optimize=0)
        elif name.endswith(".py") and (module in names or module.split(".")[0] in WHOLE):
            yield name.replace(".py", ".pyc"), bytecode(path.read_bytes(), name)
        elif name.endswith(".so") or name.startswith("marqueue/examples/"):
            yield name, path.read_bytes()


sys.path.insert(0, str(SITE))
use()
imported = set(sys.modules)
write(OUT / "library.zip", dict(library(imported)))
write(OUT / "packages.zip", dict(packages(imported)))
