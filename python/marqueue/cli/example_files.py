"""The example scenarios of the package."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples"


def paths() -> dict[str, Path]:
    """The files of the examples by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
