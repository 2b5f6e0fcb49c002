//! The process of a guest: in a process group of its own, on the core of the simulator, in a private directory, and
//! gone when the simulator is gone.

use crate::spawn::{Process, Program};
use rustix::process::Signal;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Lines of the console in an error message.
const CONSOLE_LINES: usize = 12;
/// Bytes at the end of the console that are read for them.
const CONSOLE_BYTES: u64 = 8192;

/// Numbers the private directories of this process.
static DIRECTORIES: AtomicU64 = AtomicU64::new(0);

/// Number of threads that were pinned, for the choice of a core.
static PINNED: AtomicUsize = AtomicUsize::new(0);

/// A directory that only this user can enter. It is removed at the end.
#[derive(Debug)]
pub struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes a new one.
    ///
    /// # Errors
    /// If the host refuses it.
    pub fn new() -> io::Result<PrivateDirectory> {
        loop {
            let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("marqueue-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| PrivateDirectory(path)),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What cannot be removed lies in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keeps this thread on one core, for as long as it lives. Guests that the thread starts stay there too. Each packet
/// needs several switches between guest and simulator, and on one core a switch costs a fifth.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Pins the thread to one of the cores that it may use, each thread in turn to the next. Where the host refuses, a
    /// run is slower and otherwise the same.
    pub fn to_next_core() -> Pinned {
        let Ok(before) = sched_getaffinity(None) else { return Pinned { before: None } };
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)).collect();
        let turn = PINNED.fetch_add(1, Ordering::Relaxed);
        let Some(&cpu) = allowed.get(turn.checked_rem(allowed.len()).unwrap_or(0)) else {
            return Pinned { before: None };
        };
        let mut one = CpuSet::new();
        one.set(cpu);
        Pinned { before: sched_setaffinity(None, &one).is_ok().then_some(before) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// A guest's process. It is killed when this value is dropped.
#[derive(Debug)]
pub struct GuestProcess {
    process: Process,
    console: PathBuf,
}

impl GuestProcess {
    /// Starts `kernel` in `directory` with `arguments`. Its console goes to the file `console` there.
    ///
    /// # Errors
    /// If it cannot be started, or its addresses would be random.
    pub fn start(kernel: &Path, arguments: &[String], directory: &Path, console: &str) -> io::Result<GuestProcess> {
        let console = directory.join(console);
        let out = File::create(&console)?;
        let program = Program {
            path: kernel,
            arguments,
            // Nothing of this machine enters the guest: neither environment nor path. Linux 6.1 unmaps from its processes
            // what the C library registers for restartable sequences, and a host that writes there ends them.
            environment: &["HOME=.", "GLIBC_TUNABLES=glibc.pthread.rseq=0"],
            directory,
            output: &out,
        };
        Ok(GuestProcess { process: program.start().map_err(with_reason)?, console })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.process.pid().as_raw_nonzero().get() as u32
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.process.ended().map(|status| status.to_string())
    }

    /// How it ended, if it ends within half a second: the sockets of a process are closed before it can be waited for.
    pub fn ends(&mut self) -> Option<String> {
        for _ in 0..50 {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// The last lines of its console.
    pub fn last_lines(&self) -> Vec<String> {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.console)?;
            let from = file.metadata()?.len().saturating_sub(CONSOLE_BYTES);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(CONSOLE_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].iter().map(|line| line.to_string()).collect()
    }
}

/// Of all calls of [`Program::start`] only personality fails with EPERM: a container forbids it.
fn with_reason(error: io::Error) -> io::Error {
    if error.raw_os_error() != Some(libc::EPERM) {
        return error;
    }
    io::Error::new(
        error.kind(),
        "got a host that refuses personality(ADDR_NO_RANDOMIZE), without which results would change from run to run; \
         expected one that allows it (in a container: --security-opt seccomp=unconfined)",
    )
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        // A guest runs its programs as processes of its group. It may have ended by itself; then there is nothing to kill.
        let _ = rustix::process::kill_process_group(self.process.pid(), Signal::KILL);
        self.process.wait();
    }
}
