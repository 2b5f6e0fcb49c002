//! Rows of flows in a file: what leaves the engine during a run with very many flows.

use crate::convert;
use marqueue_core::{Dur, Time};
use marqueue_sim::result::FlowTable;
use marqueue_sim::FlowSink;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pyo3::create_exception!(_core, FlowsNotWritten, PyOSError, "Rows of flows could not be written: errno, reason.");

/// What each record has: as many measuring windows, and a propagation delay or none.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    windows: usize,
    propagation: bool,
}

impl Layout {
    fn of(table: &FlowTable) -> Layout {
        Layout { windows: table.windows(), propagation: !table.propagation.is_empty() }
    }

    /// Bytes of a record.
    fn size(self) -> u64 {
        52 + 8 * (self.windows as u64 + u64::from(self.propagation))
    }

    /// Appends the row at place `at` of a table as a record, little-endian.
    fn write(self, table: &FlowTable, at: usize, out: &mut Vec<u8>) {
        for number in [table.group[at], table.route[at], table.size[at], table.timeouts[at], table.ecn_cuts[at]] {
            out.extend(number.to_le_bytes());
        }
        for number in [table.start[at].0, table.end[at].0, table.sent[at], table.retransmits[at]] {
            out.extend(number.to_le_bytes());
        }
        for bytes in &table.delivered[at * self.windows..][..self.windows] {
            out.extend(bytes.to_le_bytes());
        }
        if self.propagation {
            out.extend(table.propagation[at].0.to_le_bytes());
        }
    }

    /// The rows of records.
    fn read(self, records: &[u8]) -> FlowTable {
        let mut table = FlowTable::default();
        for record in records.chunks_exact(self.size() as usize) {
            let (short, long) = record.split_at(20);
            let mut short = short.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
            let mut long = long.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
            table.group.extend(short.next());
            table.route.extend(short.next());
            table.size.extend(short.next());
            table.timeouts.extend(short.next());
            table.ecn_cuts.extend(short.next());
            table.start.extend(long.next().map(Time));
            table.end.extend(long.next().map(Time));
            table.sent.extend(long.next());
            table.retransmits.extend(long.next());
            table.delivered.extend(long.by_ref().take(self.windows));
            table.propagation.extend(long.next().map(Dur));
        }
        table
    }
}

/// Writes rows that leave a run to a file without a name, which is gone once nobody has it open.
#[derive(Debug)]
pub struct FlowWriter {
    /// The directory of the file.
    directory: PathBuf,
    state: Mutex<Written>,
}

/// What has been written so far.
#[derive(Debug, Default)]
struct Written {
    /// Made for the first rows: most runs have none that leave.
    file: Option<File>,
    rows: u64,
    layout: Layout,
    /// Why not all could be written.
    error: Option<io::Error>,
}

impl FlowWriter {
    /// A file in this directory will take the rows.
    pub fn new(directory: PathBuf) -> FlowWriter {
        FlowWriter { directory, state: Mutex::default() }
    }

    /// The rows, if any have left the run.
    ///
    /// # Errors
    /// If they could not all be written.
    pub fn finish(&self) -> PyResult<Option<FlowFile>> {
        let Written { file, rows, layout, error } = std::mem::take(&mut *self.lock());
        match error {
            // With two arguments Python sets errno and strerror.
            Some(error) => Err(FlowsNotWritten::new_err((error.raw_os_error(), error.to_string()))),
            None => Ok(file.map(|file| FlowFile { file, offset: 0, rows, layout })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FlowSink for FlowWriter {
    fn append(&self, table: &FlowTable) {
        let mut written = self.lock();
        if written.file.is_none() {
            written.layout = Layout::of(table);
        }
        if written.error.is_none() {
            written.error = written.append(&self.directory, table).err();
        }
    }

    fn replace_sent(&self, row: u32, table: &FlowTable, at: usize) {
        self.lock().change(row, |record| record.copy_sent(0, table, at));
    }

    fn replace_delivered(&self, row: u32, table: &FlowTable, at: usize) {
        self.lock().change(row, |record| record.copy_delivered(0, table, at));
    }

    fn has_failed(&self) -> bool {
        self.lock().error.is_some()
    }
}

impl Written {
    fn append(&mut self, directory: &Path, table: &FlowTable) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile_in(directory)?,
        };
        let mut records = Vec::with_capacity(table.len() * self.layout.size() as usize);
        (0..table.len()).for_each(|at| self.layout.write(table, at, &mut records));
        self.file.insert(file).write_all_at(&records, self.rows * self.layout.size())?;
        self.rows += table.len() as u64;
        Ok(())
    }

    /// Changes a row that it has. After an error nothing is written.
    fn change(&mut self, row: u32, change: impl FnOnce(&mut FlowTable)) {
        if self.error.is_none() {
            self.error = self.try_change(row, change).err();
        }
    }

    fn try_change(&self, row: u32, change: impl FnOnce(&mut FlowTable)) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let size = self.layout.size();
        let mut record = vec![0; size as usize];
        file.read_exact_at(&mut record, u64::from(row) * size)?;
        let mut table = self.layout.read(&record);
        change(&mut table);
        record.clear();
        self.layout.write(&table, 0, &mut record);
        file.write_all_at(&record, u64::from(row) * size)
    }
}

/// The flows of one run as records in a file, which must stay as it is.
#[pyclass(frozen, module = "marqueue._core")]
pub struct FlowFile {
    file: File,
    /// The first byte of the first record.
    offset: u64,
    rows: u64,
    layout: Layout,
}

#[pymethods]
impl FlowFile {
    /// Records within another file, from this byte on; the rest is their `layout`.
    #[staticmethod]
    fn open(path: PathBuf, offset: u64, rows: u64, windows: usize, propagation: bool) -> PyResult<FlowFile> {
        let file = File::open(path)?;
        Ok(FlowFile { file, offset, rows, layout: Layout { windows, propagation } })
    }

    /// Number of flows.
    fn __len__(&self) -> usize {
        self.rows as usize
    }

    /// Bytes of all records.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.rows * self.layout.size()
    }

    /// Number of records, number of measuring windows of each, and whether they have propagation delays.
    #[getter]
    fn layout(&self) -> (u64, usize, bool) {
        (self.rows, self.layout.windows, self.layout.propagation)
    }

    /// The rows from `begin` to `end` (excluded; as far as there are any) as columns.
    fn columns<'py>(&self, py: Python<'py>, begin: u64, end: u64) -> PyResult<Bound<'py, PyDict>> {
        let table = py.detach(|| Ok::<_, io::Error>(self.layout.read(&self.read(begin, end)?)))?;
        convert::flows(py, table, self.layout.windows)
    }

    /// The same rows as they are in the file.
    fn records<'py>(&self, py: Python<'py>, begin: u64, end: u64) -> PyResult<Bound<'py, PyBytes>> {
        let records = py.detach(|| self.read(begin, end))?;
        Ok(PyBytes::new(py, &records))
    }
}

impl FlowFile {
    fn read(&self, begin: u64, end: u64) -> io::Result<Vec<u8>> {
        let rows = end.min(self.rows).saturating_sub(begin);
        let mut records = vec![0; (rows * self.layout.size()) as usize];
        self.file.read_exact_at(&mut records, self.offset + begin * self.layout.size())?;
        Ok(records)
    }
}
