//! System calls of Linux that Python's standard library does not have.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rustix::fs::{renameat_with, RenameFlags, CWD};
use std::path::PathBuf;

/// Swaps what two paths name, in one step (renameat2 with RENAME_EXCHANGE).
///
/// Raises OSError; its errno is EINVAL where the file system cannot do it.
#[pyfunction]
pub fn exchange_paths(a: PathBuf, b: PathBuf) -> PyResult<()> {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).map_err(os_error)
}

fn os_error(error: rustix::io::Errno) -> PyErr {
    // With two arguments Python makes the subclass that belongs to the number, such as FileExistsError.
    PyOSError::new_err((error.raw_os_error(), std::io::Error::from(error).to_string()))
}
