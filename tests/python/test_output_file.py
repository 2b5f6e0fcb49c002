"""Single output files: whole or as before."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from marqueue.errors import RunError
from marqueue.results.output_file import check_output_file, write_output_file, write_output_files


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_output_file(path, "first")
    path.chmod(0o640)
    write_output_file(path, "zweite Fassung: ±")
    assert path.read_bytes() == "zweite Fassung: ±".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_previous_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    program = (
        "import sys; from marqueue.results.output_file import write_output_file\n"
        "try: write_output_file(sys.argv[1], 'x' * 100_000)\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "page.html"],
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "page.html: cannot be written: File too large\n"
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_keeps_pointing_to_the_file(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file.name)
    for text in ("new", "replaced"):
        write_output_file(link, text)
        assert link.is_symlink()
        assert file.read_text() == text


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_output_file(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_place_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"nowhere/a: cannot be written: No such file or directory"):
        write_output_file(tmp_path / "nowhere" / "a", "")
    with pytest.raises(RunError, match=r"cannot be written: Is a directory"):
        write_output_file(tmp_path, "")
    with pytest.raises(RunError, match=r"file: cannot be written"):
        write_output_files(tmp_path / "file", {"a": ""})


def test_files_go_into_a_folder_that_is_made(tmp_path: Path) -> None:
    write_output_files(tmp_path / "new" / "folder", {"a.svg": "<svg/>", "b.png": b"\x89PNG"})
    assert (tmp_path / "new" / "folder" / "a.svg").read_text() == "<svg/>"
    assert (tmp_path / "new" / "folder" / "b.png").read_bytes() == b"\x89PNG"


def test_a_place_is_checked_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    check_output_file(tmp_path / "new", replace=False)
    check_output_file(tmp_path / "there", replace=True)
    with pytest.raises(RunError, match="exists, expected a new file; --force replaces it"):
        check_output_file(tmp_path / "there", replace=False)
    for path in (tmp_path, tmp_path / "nowhere" / "a"):
        with pytest.raises(RunError, match="expected a file in a directory that exists"):
            check_output_file(path, replace=True)
