"""The order of the packages: who may import whom (ARCHITECTURE.md)."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import grimp
import pytest

import marqueue

ROOT = Path(marqueue.__file__).parent

FLOORS = [
    {"errors", "garbage_collector", "json_text", "light_start"},
    {"units", "extras", "statistics", "kernels", "programs"},
    {"scenario"},
    {"theory"},
    {"results"},
    {"simulation", "plots", "traces", "ns2", "ns3"},
    # The package itself hands on the functions that users call.
    {"", "design", "reports", "live", "tuning"},
    {"validation", "papers", "conformance", "evaluation", "recommend", "attack"},
    {"lab", "notebook"},
    {"cli"},
    {"__main__"},
]
"""From the ground up; a package imports only from floors below its own."""

FLOOR = {package: floor for floor, packages in enumerate(FLOORS) for package in packages}

LOOSE = {
    "__init__.py",
    "__main__.py",
    "extras.py",
    "garbage_collector.py",
    "json_text.py",
    "light_start.py",
    "units.py",
    "_core.pyi",
}
"""Files that may stand at the root; everything else is in a package."""

ENGINE = "marqueue._core"


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Imports that happen, also inside functions; not those for type checkers alone."""
    return grimp.build_graph("marqueue", exclude_type_checking_imports=True, cache_dir=None)


@pytest.fixture(scope="module")
def imports(graph: grimp.ImportGraph) -> Mapping[str, set[str]]:
    """By module, the modules that it imports. The engine, which is no Python, is left out."""

    def of_engine(importer: str, imported: str) -> bool:
        details = graph.get_import_details(importer=importer, imported=imported)
        return imported == "marqueue" and all(ENGINE in each["line_contents"] for each in details)

    return {
        module: {
            other
            for other in graph.find_modules_directly_imported_by(module)
            if not of_engine(module, other)
        }
        for module in graph.modules
    }


def package(module: str) -> str:
    """The package at the top that a module belongs to; empty for the root itself."""
    return module.split(".")[1] if "." in module else ""


def cycles(imports: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Chains of imports that come back to where they began."""
    done: set[str] = set()

    def visit(module: str, chain: list[str]) -> Iterator[list[str]]:
        if module in chain:
            yield [*chain[chain.index(module) :], module]
        elif module not in done:
            for other in sorted(imports[module]):
                yield from visit(other, [*chain, module])
            done.add(module)

    for module in sorted(imports):
        yield from visit(module, [])


def test_no_modules_import_each_other(imports: Mapping[str, set[str]]):
    assert list(cycles(imports)) == []


def test_cycles_are_found():
    assert list(cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == [["a", "b", "c", "a"]]


def test_packages_import_from_lower_floors(imports: Mapping[str, set[str]]):
    upward = [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if package(other) != package(module) and FLOOR[package(other)] >= FLOOR[package(module)]
    ]
    assert upward == []


def test_the_longest_chain_of_packages(imports: Mapping[str, set[str]]):
    """Nine floors between the command and the ground."""
    above: dict[str, set[str]] = {}
    for module, others in imports.items():
        above.setdefault(package(module), set()).update(map(package, others))

    @cache
    def height(name: str) -> int:
        return 1 + max((height(other) for other in above[name] - {name}), default=0)

    assert height("cli") <= 9


def test_the_root_holds_nothing_else():
    found = {path.name for path in ROOT.iterdir() if path.suffix in (".py", ".pyi")}
    assert found == LOOSE


def test_every_package_says_what_it_is_for():
    for path in ROOT.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
