"""No crate has a cycle of imports among its modules.

A module is a file under ``crates/NAME/src``. Module A imports module B if the code of A contains a
path that begins with ``crate::``, ``self::``, ``super::`` or the name of a child module of A, and
the longest prefix of that path that names a module is B. Three rules make this precise:

- A path to a name that a module only re-exports (``pub use child::Name``) leads to the module that
  the name comes from.
- ``mod child;`` and ``pub use child::Name`` in a parent are no imports: a parent may list its
  children. Any other use of a child is one, so a child that imports from a parent that uses the
  child closes a cycle.
- A child that no ``mod child;`` declares is declared by a macro, which also uses it: the parent
  imports it.

Comments, strings and code under ``#[cfg(test)]`` do not count. Methods are not paths: a type whose
``impl`` blocks lie in child modules does not import these.
"""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"

Module = tuple[str, ...]
ROOT: Module = ()

NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
USE = re.compile(r"(?P<public>\bpub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")


def strip(source: str) -> str:
    """The code alone: no comment, no string, nothing under ``#[cfg(test)]``."""
    code = NOT_CODE.sub(" ", source)
    while test := re.search(r"#\[cfg\(test\)\]", code):
        end = test.end()
        while code[end] not in ";{":
            end += 1
        depth = int(code[end] == "{")
        while depth:
            end += 1
            depth += {"{": 1, "}": -1}.get(code[end], 0)
        code = code[: test.start()] + code[end + 1 :]
    return code


def expand(tree: str) -> Iterator[tuple[list[str], str]]:
    """The paths of a use tree, each with the name that it gets."""
    tree = tree.strip()
    if group := re.fullmatch(r"((?:\w+\s*::\s*)*)\{(.*)\}", tree, re.DOTALL):
        prefix = re.findall(r"\w+", group[1])
        depth, item = 0, ""
        for character in group[2] + ",":
            depth += {"{": 1, "}": -1}.get(character, 0)
            if character == "," and depth == 0:
                for path, name in expand(item) if item.strip() else ():
                    yield prefix + path, name
                item = ""
            else:
                item += character
        return
    whole, _, alias = re.sub(r"\s+as\s+", " as ", tree).partition(" as ")
    parts = re.findall(r"\w+|\*", whole)
    yield parts, alias or parts[-1]


class Crate:
    """The modules of a crate and what each imports."""

    def __init__(self, source: Path) -> None:
        self.code = {
            module_of(file.relative_to(source)): strip(file.read_text())
            for file in source.rglob("*.rs")
        }
        self.code = {module: code for module, code in self.code.items() if self.is_compiled(module)}
        self.family: dict[Module, set[str]] = {}
        for module in self.code:
            if module != ROOT:
                self.family.setdefault(module[:-1], set()).add(module[-1])
        self.exports: dict[Module, dict[str, list[str]]] = {
            module: {
                name: path
                for use in USE.finditer(code)
                if use["public"]
                for path, name in expand(use["tree"])
            }
            for module, code in self.code.items()
        }

    def is_compiled(self, module: Module) -> bool:
        """False for a file of tests: its parent declares it under ``#[cfg(test)]``."""
        return module == ROOT or module[-1] != "tests"

    def children(self, module: Module) -> set[str]:
        return self.family.get(module, set())

    def resolve(self, here: Module, path: list[str]) -> Module | None:
        """The module that defines the name at the end of a path; None outside of the crate."""
        first, rest = path[0], path[1:]
        if first == "crate":
            return self.descend(ROOT, rest)
        if first == "self":
            return self.descend(here, rest)
        if first == "super":
            return self.resolve(here[:-1], rest if rest[:1] == ["super"] else ["self", *rest])
        return self.descend(here, path) if first in self.children(here) else None

    def descend(self, module: Module, rest: list[str]) -> Module:
        if not rest:
            return module
        if (child := (*module, rest[0])) in self.code:
            return self.descend(child, rest[1:])
        if exported := self.exports[module].get(rest[0]):
            return self.resolve(module, exported) or module
        return module

    def imports(self, module: Module) -> set[Module]:
        code, children = self.code[module], self.children(module)
        paths: list[list[str]] = []
        for use in USE.finditer(code):
            for path, _ in expand(use["tree"]):
                if not (use["public"] and path[0] in children):
                    paths.append(path)
        code = USE.sub(" ", code)
        starts = "|".join(["crate", "self", "super", *children])
        for match in re.finditer(rf"(?<![\w:])(?:{starts})(?:\s*::\s*\w+)+", code):
            paths.append(re.findall(r"\w+", match[0]))
        declared = set(re.findall(r"\bmod\s+(\w+)\s*;", code))
        found = {self.resolve(module, path) for path in paths} | {
            (*module, child) for child in children - declared
        }
        return {each for each in found if each is not None and each != module}


def module_of(file: Path) -> Module:
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def cycle(crate: Crate) -> list[str] | None:
    """The modules of a cycle, each of which imports the next."""
    try:
        TopologicalSorter({module: crate.imports(module) for module in crate.code}).prepare()
    except CycleError as error:
        return ["::".join(("crate", *module)) for module in reversed(error.args[1])]
    return None


@pytest.mark.parametrize(
    "name", sorted(manifest.parent.name for manifest in CRATES.glob("*/Cargo.toml"))
)
def test_no_crate_has_a_cycle_of_modules(name: str) -> None:
    assert cycle(Crate(CRATES / name / "src")) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"lib": "mod a; mod b;", "a": "use crate::b::B;", "b": "pub struct B;"}, None),
        (
            {"lib": "mod a; mod b;", "a": "use crate::b::B;", "b": "fn f() { crate::a::g() }"},
            {"a", "b"},
        ),
        (
            {"lib": "mod a; mod b;", "a": "use super::b;", "b": "use super::{a::{A, C}, std};"},
            {"a", "b"},
        ),
        # A parent that lists and re-exports its children.
        ({"lib": "mod a; pub use a::A; pub struct P;", "a": "use crate::P; pub struct A;"}, None),
        # A parent that uses what it re-exports.
        (
            {"lib": "mod a; pub use a::A; fn f() { a::g() }", "a": "use crate::P; pub struct A;"},
            {"", "a"},
        ),
        # A name that the parent only hands on leads to the child that has it.
        ({"lib": "mod a; mod b; pub use a::A;", "a": "pub struct A;", "b": "use crate::A;"}, None),
        (
            {"lib": "mod a; mod b; pub use a::A;", "a": "use crate::b::B;", "b": "use crate::A;"},
            {"a", "b"},
        ),
        # A macro declares its modules and uses them.
        ({"lib": "list! { a }", "a": "use super::Trait;"}, {"", "a"}),
        # What does not count.
        (
            {
                "lib": "mod a; mod b;",
                "a": "use crate::b::B; // crate::a",
                "b": '/// [`crate::a`]\nconst C: &str = "crate::a";',
            },
            None,
        ),
        (
            {
                "lib": "mod a; mod b;",
                "a": "use crate::b::B;",
                "b": "#[cfg(test)] mod tests { use crate::a; }",
            },
            None,
        ),
    ],
)
def test_a_cycle_is_found(tmp_path: Path, files: dict[str, str], expected: set[str] | None) -> None:
    for name, code in files.items():
        (tmp_path / f"{name}.rs").write_text(code)
    found = cycle(Crate(tmp_path))
    assert (found and {each.removeprefix("crate").removeprefix("::") for each in found}) == expected
