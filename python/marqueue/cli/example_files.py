"""The example scenarios that come with the package."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples"


def paths() -> dict[str, Path]:
    """The examples by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
