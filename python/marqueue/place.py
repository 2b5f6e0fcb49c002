"""Where a result is put: its directory appears whole or not at all."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marqueue.errors import RunError


def refuse_place(directory: Path, force: bool) -> None:
    """Tells before the run, rather than after it, that its result has no place."""
    if directory.exists() and not force:
        raise RunError(f"{directory}: exists, expected a new directory; --force replaces it")
    if directory.exists() and not directory.is_dir():
        raise RunError(f"{directory}: is a file, expected a directory")
    above = next(each for each in directory.absolute().parents if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise RunError(f"{directory}: cannot be written, expected a place in a writable directory")


@contextmanager
def whole(directory: Path) -> Iterator[Path]:
    """A directory beside ``directory``, moved there at the end; nothing is left of a failure."""
    fresh = directory.with_name(f"{directory.name}.new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        yield fresh
        if directory.is_dir():
            shutil.rmtree(directory)
        fresh.rename(directory)
    except OSError as error:
        raise RunError(f"{directory}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def write_json(path: Path, value: Any, *, sort_keys: bool = True) -> None:
    """A file of a result, as people can read it; there is no NaN in JSON."""
    text = json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
