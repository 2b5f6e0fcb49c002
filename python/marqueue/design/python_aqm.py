"""A class in Python in the place of the AQM that was designed: packets are simulated with it.

It gets those values of the design that it has parameters for, by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marqueue.errors import ModelError
from marqueue.programs.interface import AQM
from marqueue.programs.registry import ProgramError, find, read_program
from marqueue.scenario.program import DIGEST


@dataclass(frozen=True)
class PythonAqm:
    """A class in Python that scenarios can name as their AQM."""

    name: str
    """``python:FILE.py:CLASS``."""
    sha256: str
    """The digest of its file."""
    parameters: frozenset[str]

    @classmethod
    def read(cls, name: str) -> PythonAqm:
        """Runs the file of a class, which is in the current folder. Raises ModelError with what was
        expected if there is no such class."""
        try:
            digest = read_program(name, Path())
        except ProgramError as error:
            raise ModelError(f"--program: {error}") from None
        program = find(name, digest)
        assert program is not None, "it has just been read"
        if program.kind != AQM:
            raise ModelError(f"--program: got {name}, expected a class with @marqueue.aqm")
        return cls(name, digest, frozenset(program.parameters))

    def in_place_of(self, aqm: Mapping[str, Any]) -> dict[str, Any]:
        """Its table in a scenario, for that of the designed AQM. Raises ModelError if it has none
        of the designed parameters."""
        designed = {key: value for key, value in aqm.items() if key != "name"}
        given = {key: value for key, value in designed.items() if key in self.parameters}
        if not given:
            raise ModelError(
                f"--program: {self.name} has none of the designed parameters, expected some of "
                f"{', '.join(designed)}"
            )
        return {"name": self.name, DIGEST: self.sha256, **given}

    def in_parts(self, parts: Mapping[str, Any], link: str) -> dict[str, Any]:
        """The topology, transport and traffic of a scenario, with it at a link. Raises ModelError
        if the design is of several links, or of an AQM whose prices TCP does not read."""
        topology = parts["topology"]
        of_tcp = all(each["kind"] == "tcp" for each in parts["traffic"])
        if not of_tcp or topology["kind"] != "dumbbell" or "cpu" in topology[link]:
            raise ModelError("--program: expected the design of an AQM for TCP at one link")
        at = {**topology[link], "aqm": self.in_place_of(topology[link]["aqm"])}
        return {**parts, "topology": {**topology, link: at}}
