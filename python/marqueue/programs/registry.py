"""The files with programs that this process has read, by name and digest.

A program is known after :func:`read_program`, which runs its file. Scenarios that come from
elsewhere, such as from a browser or from a stored result, name programs that are not known, and
these run nothing.
"""

import hashlib
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from types import CodeType, ModuleType
from typing import Any

import marqueue._core as _core
from marqueue.errors import BrokenProgram, MarqueueError
from marqueue.programs.interface import VERDICTS as VERDICTS
from marqueue.programs.interface import Program

PREFIX = "python:"
EXPECTED = (
    'expected python:FILE.py:CLASS with a file beside the scenario, such as "python:mine.py:Mine"'
)


class ProgramError(MarqueueError, ValueError):
    """A file has no such program, or cannot be read or run."""


@dataclass(frozen=True)
class Source:
    """A file with programs."""

    code: CodeType
    text: str
    sha256: str

    def program(self, file: str, name: str) -> Program:
        """A program of a new copy of the module. Queues and replications share no variables."""
        module = ModuleType(f"{PurePosixPath(file).stem}_{self.sha256[:12]}")
        module.__file__ = self.code.co_filename
        try:
            exec(self.code, module.__dict__)
        except Exception as error:
            raise ProgramError(f"{file} cannot be imported:\n{told(error)}") from None
        found = getattr(getattr(module, name, None), "__marqueue__", None)
        if not isinstance(found, Program) or found.cls.__name__ != name:
            raise ProgramError(f"{file} has no class {name} with @marqueue.aqm")
        return found


def told(error: BaseException) -> str:
    """An error with the lines of the program that led to it."""
    lines = traceback.extract_tb(error.__traceback__)
    own = [each for each in lines if each.filename != __file__]
    text = "".join(traceback.format_list(own)) + "".join(traceback.format_exception_only(error))
    return text.rstrip()


def broken(failed: _core.ProgramFailed, where: str) -> BrokenProgram:
    """The error of a program that broke off in a run, with the lines that led there."""
    text = f"{where}: {failed}"
    return BrokenProgram(text if failed.__cause__ is None else f"{text}:\n{told(failed.__cause__)}")


_SOURCES: dict[tuple[str, str], Source] = {}
"""By file, as scenarios name it, and digest."""
_LATEST: dict[str, str] = {}
"""The digest of each file as it was read last."""


def is_program(name: object) -> bool:
    """Whether a name of an AQM is that of a program."""
    return isinstance(name, str) and name.startswith(PREFIX)


def parts(name: str) -> tuple[str, str]:
    """The file and the class of a name. Raises ProgramError."""
    file, _, cls = name.removeprefix(PREFIX).rpartition(":")
    path = PurePosixPath(file)
    if path.name != file or path.suffix != ".py" or not cls.isidentifier():
        raise ProgramError(f'got "{name}", {EXPECTED}')
    return file, cls


def name_and_rest(text: str) -> tuple[str, str, str]:
    """The name of an AQM as an option has it, a colon if parameters follow, and these:
    ``pie:target=5ms``, ``python:mine.py:Mine:target=5ms``."""
    if not is_program(text):
        return text.partition(":")
    prefix, file, *others = text.split(":", 2)
    cls, colon, rest = "".join(others).partition(":")
    return ":".join(filter(None, (prefix, file, cls))), colon, rest


def read_program(name: str, folder: Path) -> str:
    """Runs the file of a program, which is in a folder, and returns the SHA-256 of its source.

    Raises ProgramError if there is none, or no such class in it.
    """
    file, cls = parts(name)
    path = folder / file
    try:
        text = path.read_bytes().decode()
        found = _source(text, str(path))
    except OSError as error:
        raise ProgramError(f"{file} cannot be read: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise ProgramError(f"{file} is not Python: {error}") from None
    found.program(file, cls)
    _SOURCES[file, found.sha256] = found
    _LATEST[file] = found.sha256
    return found.sha256


def read_text(file: str, text: str) -> None:
    """Makes the programs of a file known that another process has read (:func:`sources`)."""
    found = _source(text, file)
    _SOURCES[file, found.sha256] = found


def _source(text: str, place: str) -> Source:
    return Source(compile(text, place, "exec"), text, hashlib.sha256(text.encode()).hexdigest())


def files_read() -> list[str]:
    """The files that this process has read and run."""
    return list(_LATEST)


def latest(name: str) -> str | None:
    """The digest of the file of a program as it was read last; None if it was not."""
    return _LATEST.get(parts(name)[0])


def find(name: str, sha256: str) -> Program | None:
    """A program that was read; None if none has this name and digest."""
    file, cls = parts(name)
    source = _SOURCES.get((file, sha256))
    return None if source is None else source.program(file, cls)


def sources(scenario: object) -> dict[str, str]:
    """The sources of the programs that a scenario names, by file, as far as this process has read
    them. ``scenario`` is as in a file, with digests."""
    # Most processes have read none, and a scenario may be large.
    found = {each: _SOURCES.get(each) for each in named(scenario)} if _SOURCES else {}
    return {file: source.text for (file, _), source in found.items() if source is not None}


def named(scenario: object) -> list[tuple[str, str]]:
    """The programs that a scenario names: the file of each, and its digest. ``scenario`` is as in a
    file, with digests."""
    match scenario:
        case {"name": str(name), "sha256": str(sha256)} if is_program(name):
            return [(parts(name)[0], sha256)]
        case dict():
            below = [named(each) for each in scenario.values()]
        case list():
            below = [named(each) for each in scenario]
        case _:
            return []
    return list(dict.fromkeys(each for found in below for each in found))


def begin(name: str, values: Mapping[str, Any]) -> object:
    """A new object of a program. The engine calls it for each queue of each replication."""
    program, given = _program(name, values)
    try:
        return program.begin(given)
    except Exception as error:
        raise _core.ProgramFailed(f"{name.removeprefix(PREFIX)}: __init__") from error


def is_compiled(name: str, values: Mapping[str, Any]) -> bool:
    """Whether Numba compiles a program."""
    return _program(name, values)[0].jit


_CODES: dict[tuple[str, str], Any] = {}
"""Compiled programs by name and digest: to compile one takes seconds."""
_COMPILING = Lock()

Description = tuple[tuple[int, ...], list[float], list[int], list[tuple[str, str]], object]


def describe(name: str, values: Mapping[str, Any]) -> Description:
    """A compiled program for the engine: the addresses of its hooks, the variables of a new object,
    the positions of the probes among them, the probes with their units, and what keeps the code.

    Raises ProgramError if Numba cannot compile it.
    """
    program, given = _program(name, values)
    # Numba is an extra, and its import takes a second.
    from marqueue.programs.compiled import compile_program

    key = name, str(values["sha256"])
    with _COMPILING:
        if key not in _CODES:
            try:
                _CODES[key] = compile_program(program)
            # Numba raises errors of many kinds, among them KeyError for an unknown variable.
            except Exception as error:
                said = "".join(traceback.format_exception_only(error)).strip()
                raise ProgramError(f"{name}: Numba cannot compile it:\n{said}") from None
        code = _CODES[key]
    variables = {**code.variables, **{each: float(given[each]) for each in program.parameters}}
    order = list(variables)
    probed = [order.index(each) for each in program.probes]
    return code.addresses, list(variables.values()), probed, list(program.probes.items()), code


def maker(name: str, values: Mapping[str, Any]) -> Callable[[], object]:
    """Makes the object of each flow, all of one copy of the module. The engine calls it for each
    transport of each replication."""
    program, given = _program(name, values)
    return lambda: program.begin(given)


def _program(name: str, values: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
    given = dict(values)
    program = find(name, str(given.pop("sha256", "")))
    if program is None:
        raise ProgramError(f"{name}: not read, expected a scenario file beside it")
    return program, given


def probes_of(made: object) -> list[tuple[str, str]]:
    """The probes of an object with their units."""
    program: Program = type(made).__marqueue__  # type: ignore[attr-defined]
    return list(program.probes.items())
