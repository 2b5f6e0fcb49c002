"""The types of the package, as type checkers show them to a user's script."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "typed.py"
#: basedpyright is pyright with a Node of its own; "strict" are the rules of pyright itself.
#: mypy's cache of the package and its imports, which `make lint` fills with the same settings.
CACHE = ROOT / ".mypy_cache"
CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", "--config-file=", f"--cache-dir={CACHE}"],
    "mypy with pydantic's plugin": ["-m", "mypy", "--config-file=plugin.ini"],
    "pyright": ["-m", "basedpyright", "--project=pyright.json", f"--pythonpath={sys.executable}"],
}

#: A mistake a line.
WRONG = """\
from marqueue.scenario import Queue, Tcp
from marqueue.units import Packets
print(Packets(1))
print(Queue(rate=10, delay="5 ms", buffer="9 packets"))
print(Queue(rate="10 Mbit/s", delay=Packets(5), buffer="9 packets"))
print(Queue(rate="10 Mbit/s", delay="5 ms", buffer=100))
print(Queue(rate="10 Mbit/s", buffer="9 packets"))
print(Tcp(kind="tcp", jitter=1.0))
"""


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_script_is_well_typed_and_mistakes_are_found(tmp_path: Path, checker: str) -> None:
    """mypy and pyright, over the example and over a script of mistakes."""
    (tmp_path / "plugin.ini").write_text("[mypy]\nstrict = true\nplugins = pydantic.mypy\n")
    (tmp_path / "pyright.json").write_text('{"typeCheckingMode": "strict"}')
    (tmp_path / "typed.py").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [sys.executable, *CHECKERS[checker], "typed.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"(\w+)\.py:(\d+):.*?error:", done.stdout)
    assert {(script, int(line)) for script, line in errors} == {
        ("wrong", line) for line in range(4, 9)
    }, done.stdout + done.stderr


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True
    )
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["droptail", "pie"]
