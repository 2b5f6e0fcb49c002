"""Every block of code in README and docs is run or understood, and every link leads somewhere.

The word behind a block's language says how it is checked:

    sh              each command of marqueue is one that there is, with these options
    sh run          and it is run, in the page's own directory, before the blocks below it
    toml            a scenario that loads; with FILE.toml behind it, a file for the blocks below
    toml fragment   loads together with the example "first"; "fragment of NAME", with that example
    csv FILE.csv    a file for the blocks of the page
    python          runs, with the names of the page's blocks above it
    python FILE.py  a file for the blocks below
    python as root  is only compiled, and what it imports is there
    (a notebook)    each cell of code runs; no output is stored
    rust FILE       a part of this file, which other tests compile; so is c FILE
    text, mermaid   nothing to check
"""

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import tomli_w
import typer

from marqueue import ScenarioError, load
from marqueue.cli import app
from marqueue.scenario.parameters import aqms
from pages import NOTEBOOKS, PAGES, ROOT, Block, anchors, blocks, cells, links, scenarios_of

OTHER_PROGRAMS = {
    ".",
    "cargo",
    "cd",
    "jupyter",
    "marimo",
    "pip",
    "python",
    "tc",
    "tshark",
    "wireshark",
}
MARKS = {
    "sh": r"|run",
    "toml": r"|\S+\.toml|fragment( of [\w/-]+)?",
    "python": r"|as root|\S+\.py",
    "csv": r"\S+\.csv",
    "text": "",
    "mermaid": "",
    "rust": r"|\S+\.(rs|md)",
    "c": r"\S+\.c",
}


def every(*languages: str) -> list[Block]:
    return [each for page in PAGES for each in blocks(page) if each.language in languages]


def command_lines(block: Block) -> Iterator[list[str]]:
    """The words of each command in a block; of a pipe or a list of commands, each."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        command: list[str] = []
        for word in [*words, ";"]:
            if word in ("|", "&&", ";", ">"):
                if command:
                    yield command
                command = []
                if word == ">":
                    break
            else:
                command.append(word)


def marqueue_commands(block: Block) -> Iterator[list[str]]:
    """The commands of marqueue in a block, without the first word."""
    for words in command_lines(block):
        own = words[1:] if words[0] == "sudo" else words
        if own[0] == "marqueue":
            yield [word for word in own[1:] if word != "..."]


def test_every_block_says_what_it_is() -> None:
    unknown = [
        f"{block}: {block.language} {block.mark}"
        for page in PAGES
        for block in blocks(page)
        if not re.fullmatch(MARKS.get(block.language, "(?!)"), block.mark)
        and not block.language.startswith("{")
    ]
    assert unknown == [], "expected one of the kinds that the top of this file lists"


@pytest.mark.parametrize("block", [b for b in every("rust", "c") if b.mark], ids=str)
def test_code_in_other_languages_is_code_that_is_compiled(block: Block) -> None:
    assert block.text in (ROOT / block.mark).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", every("sh"), ids=str)
def test_commands_are_understood(block: Block) -> None:
    for words in command_lines(block):
        own = words[1:] if words[0] == "sudo" else words
        assert own[0] in {"marqueue", "make", *OTHER_PROGRAMS}, own
        if own[0] == "make":
            targets = {word for word in own[1:] if not re.search(r"=", word)}
            known = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert targets <= set(known)
    group = typer.main.get_command(app)
    for arguments in marqueue_commands(block):
        command, rest, context = group, arguments, None
        while True:
            # Raises UsageError with the command or the option that there is not.
            with suppress(typer.Exit):  # --version ends here
                context = command.make_context("marqueue", list(rest), context)
            if context is None:
                break
            rest = [*getattr(context, "_protected_args", ()), *context.args]
            if not (rest and hasattr(command, "resolve_command")):
                break
            _, command, rest = command.resolve_command(context, rest)
        named = [a for a in arguments if re.match(r"(scenarios|examples)/.*\.toml$", a)]
        assert all((ROOT / name).is_file() for name in named), named


@pytest.mark.parametrize("block", every("toml"), ids=str)
def test_scenarios_load(block: Block, tmp_path: Path) -> None:
    for other in blocks(block.page):
        _save(other, tmp_path)
    for network in (ROOT / "scenarios").glob("*/*.graphml"):
        shutil.copy(network, tmp_path)
    for scenario in scenarios_of(block):
        (tmp_path / "scenario.toml").write_text(tomli_w.dumps(scenario), encoding="utf-8")
        load(tmp_path / "scenario.toml")


RUN = [
    page for page in PAGES if any(b.language == "python" or b.mark == "run" for b in blocks(page))
]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        _save(block, tmp_path)
        if block.mark == "run":
            for words in marqueue_commands(block):
                _run(words)
        elif block.language == "python" and not block.mark:
            # An error is shown with the line of the page.
            code = compile("\n" * block.line + block.text, str(block.page), "exec")
            exec(code, names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in cells(notebook):
        exec(compile(cell.text, str(cell), "exec"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def _save(block: Block, where: Path) -> None:
    """Writes a block that is a file."""
    if re.fullmatch(r"\S+\.\w+", block.mark):
        (where / block.mark).write_text(block.text, encoding="utf-8")


def _run(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marqueue", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"marqueue {shlex.join(words)}\n{done.stderr}"


def _has(module: ModuleType, name: str) -> bool:
    """Whether a name, or a module, can be imported from a module."""
    return hasattr(module, name) or find_spec(f"{module.__name__}.{name}") is not None


@pytest.mark.parametrize("block", [b for b in every("python") if b.mark], ids=str)
def test_what_needs_root_compiles(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            assert node.module
            module = import_module(node.module)
            assert all(_has(module, each.name) for each in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.target.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            broken.append(f"{page.name}:{link.line}: {link.target}")
    assert broken == []


def test_every_aqm_has_a_page() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "aqm").glob("*.md")} - {"index"}
    assert pages == set(aqms())


@pytest.mark.parametrize("command", ["rnu x.toml", "aqm list --loud"])
def test_a_command_that_there_is_not_is_found(command: str) -> None:
    block = Block(PAGES[0], 1, "sh", "", f"marqueue {command}\n")
    with pytest.raises(Exception, match=r"rnu|loud"):
        test_commands_are_understood(block)


def test_a_wrong_alternative_is_found(tmp_path: Path) -> None:
    text = '[topology]\nrtts = ["1 ms"]\nrtts = 1\n'
    with pytest.raises(ScenarioError, match="rtts"):
        test_scenarios_load(Block(PAGES[0], 1, "toml", "fragment", text), tmp_path)


def test_blocks_are_found() -> None:
    assert len(every("sh")) > 40
    assert len(every("toml")) > 5
    assert len(RUN) > 10
