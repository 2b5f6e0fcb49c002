"""Prepares a process of the program so that its imports cost little: the command, and the processes
of a sweep. Programs of users that import :mod:`marqueue` are left as they are."""

import gc
import importlib
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

FIRST_COLLECTION = 500_000
"""New objects before the garbage collector looks at them."""

METADATA = "importlib.metadata"


def start_light() -> None:
    """Prepares the process; called before the heavy imports.

    Most of what imports make stays until the end, so collecting early finds nothing.
    """
    gc.set_threshold(FIRST_COLLECTION)
    # pydantic looks for plugins among all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.meta_path.insert(0, _WithoutPandas())
    if METADATA not in sys.modules:
        sys.modules[METADATA] = importlib.metadata = _MetadataLater(METADATA)


class _WithoutPandas(MetaPathFinder, Loader):
    """Lets imports of pandas fail as if it were not installed, but not those of users' programs.

    pyarrow imports it with the first array, to recognise its objects; the program makes none.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "pandas" and _is_ours(sys._getframe(1)) else None

    def exec_module(self, module: ModuleType) -> None:
        raise ImportError("the program does without pandas")


def _is_ours(frame: FrameType | None) -> bool:
    """Whether an import that led to this frame stands in marqueue or in pyarrow."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] != "importlib":
            return module.startswith(("marqueue.", "pyarrow."))
        frame = frame.f_back
    return False


class _MetadataLater(ModuleType):
    """Stands for importlib.metadata until something of it is used.

    pydantic imports it to look for plugins, which the program does without; email, socket, zipfile
    and csv come with it.
    """

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_metadata(), name)

    @staticmethod
    def entry_points(**choice: Any) -> Any:
        """What pydantic imports by name, and calls if plugins are not disabled."""
        return _metadata().entry_points(**choice)


def _metadata() -> Any:
    """The module itself, which takes its own place."""
    if isinstance(sys.modules.get(METADATA), _MetadataLater):
        del sys.modules[METADATA]
    return importlib.import_module(METADATA)
