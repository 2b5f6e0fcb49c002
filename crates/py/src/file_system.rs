//! System calls of Linux that Python's standard library does not have.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rustix::fs::{open, renameat_with, syncfs, Mode, OFlags, RenameFlags, CWD};
use std::path::PathBuf;

/// Swaps what two paths name, in one step (renameat2 with RENAME_EXCHANGE).
///
/// Raises OSError; its errno is EINVAL where the file system cannot do it.
#[pyfunction]
pub fn exchange_paths(a: PathBuf, b: PathBuf) -> PyResult<()> {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).map_err(os_error)
}

/// Flushes everything of the file system that a path is on to the disk (syncfs).
///
/// Raises OSError; before Linux 5.8 not for data that could not be written.
#[pyfunction]
pub fn flush_file_system(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| syncfs(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)).map_err(os_error)
}

fn os_error(error: rustix::io::Errno) -> PyErr {
    // With two arguments Python makes the subclass that belongs to the number, such as FileExistsError.
    PyOSError::new_err((error.raw_os_error(), std::io::Error::from(error).to_string()))
}
