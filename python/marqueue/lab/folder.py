"""Files of the folder whose results the lab shows. Nothing outside of it is ever read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marqueue.results.integrity import PROVENANCE

CHECKPOINTS = ".checkpoints"
"""The end of the name of a directory with checkpoints (marqueue.results.output_directory)."""

DEEPEST = 8
"""Levels of directories below the folder that are searched."""


class Outside(Exception):
    """A path that leads out of the folder, or to nothing."""


@dataclass(frozen=True)
class Folder:
    """A folder with results."""

    root: Path
    """Absolute, without symbolic links."""

    @classmethod
    def of(cls, path: Path) -> Folder:
        """The folder at a path, which must exist."""
        return cls(path.resolve(strict=True))

    def inside(self, relative: str) -> Path:
        """The file or directory at a path relative to the folder.

        Symbolic links are followed, and must end inside. Raises Outside.
        """
        try:
            path = (self.root / relative).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise Outside(relative) from None
        if not path.is_relative_to(self.root):
            raise Outside(relative)
        return path

    def name(self, path: Path) -> str:
        """A path inside, relative to the folder."""
        return path.relative_to(self.root).as_posix()

    def results(self) -> Iterator[Path]:
        """All result directories, with those of the points of sweeps."""
        for path, files in self._directories():
            if PROVENANCE in files:
                yield path

    def checkpoints(self) -> Iterator[Path]:
        """All directories with checkpoints of unfinished runs."""
        for path, _ in self._directories():
            if path.name.endswith(CHECKPOINTS):
                yield path

    def _directories(self) -> Iterator[tuple[Path, list[str]]]:
        """Directories and their files. Symbolic links to directories are not followed: they would
        list results twice, and could lead outside."""
        for here, folders, files in os.walk(self.root):
            path = Path(here)
            hidden = [each for each in folders if each.startswith(".")]
            if len(path.relative_to(self.root).parts) >= DEEPEST:
                hidden = list(folders)
            if path.name.endswith(CHECKPOINTS):
                # Its points are results of a run that has not ended.
                hidden = list(folders)
            folders[:] = sorted(set(folders) - set(hidden))
            yield path, files
