//! Starts a program without `fork`, as `posix_spawn` does: the child has its parent's memory until the program begins,
//! and the parent's thread waits for that.
//!
//! A fork runs what libraries have registered for it (`pthread_atfork`). OpenBLAS, which numpy and scipy bring, ends its
//! threads then, and hangs if another thread forks or computes meanwhile. `posix_spawn` itself cannot set what
//! [`Program::start`] sets.
#![allow(unsafe_code, reason = "what a child does before its program begins has no safe form")]

use rustix::io::retry_on_intr;
use rustix::process::{waitpid, Pid, WaitOptions};
use std::ffi::{c_char, c_int, c_void, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicI32, Ordering};

/// Words of 16 bytes of the stack on which the child runs up to its program.
const STACK: usize = 4096;

/// A program to start.
#[derive(Debug)]
pub struct Program<'a> {
    /// Its file.
    pub path: &'a Path,
    /// What follows its name.
    pub arguments: &'a [String],
    /// Its whole environment, each as NAME=VALUE.
    pub environment: &'a [&'a str],
    /// Where it runs.
    pub directory: &'a Path,
    /// Where its output and its errors go. It reads nothing.
    pub output: &'a File,
}

impl Program<'_> {
    /// Starts it in a process group of its own. It is killed when the thread that starts it ends, and its addresses are
    /// the same in each run: the size of a guest's memory, and with it limits of TCP's buffers, depend on where the host
    /// puts its heap. Newer kernels do this themselves, but go on where the host refuses it, and then their results
    /// change from run to run.
    ///
    /// # Errors
    /// Of the call that failed, in the child too.
    pub fn start(&self) -> io::Result<Process> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let path = text(self.path.as_os_str())?;
        let arguments = self.arguments.iter().map(|each| text(OsStr::new(each))).collect::<io::Result<Vec<_>>>()?;
        let environment = self.environment.iter().map(|each| text(OsStr::new(each))).collect::<io::Result<Vec<_>>>()?;
        let directory = text(self.directory.as_os_str())?;
        let nothing = File::open("/dev/null")?;
        let pointers = |first: Option<&CString>, rest: &[CString]| -> Vec<*const c_char> {
            first.into_iter().chain(rest).map(|each| each.as_ptr()).chain([std::ptr::null()]).collect()
        };
        let order = Order {
            arguments: pointers(Some(&path), &arguments),
            environment: pointers(None, &environment),
            directory: directory.as_ptr(),
            input: nothing.as_raw_fd(),
            output: self.output.as_raw_fd(),
            parent: std::process::id() as libc::pid_t,
            error: AtomicI32::new(0),
        };
        order.start().map(|pid| Process { pid, status: None })
    }
}

/// What the child reads, all of it made before. Strings outlive the call that has the pointers.
struct Order {
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    directory: *const c_char,
    input: RawFd,
    output: RawFd,
    parent: libc::pid_t,
    /// The number of the error for which the program did not begin.
    error: AtomicI32,
}

impl Order {
    fn start(&self) -> io::Result<Pid> {
        let mut stack = vec![0u128; STACK];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `begin` on a stack of its own and reads `self`, both of which live on here until it has
        // begun its program or ended (CLONE_VFORK). No signal handler of this process runs in it: all signals are
        // blocked until it has set handlers back.
        let pid = unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let top = stack.as_mut_ptr().add(STACK).cast();
            let pid = libc::clone(begin, top, flags, std::ptr::from_ref(self).cast_mut().cast());
            let failed = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            Pid::from_raw(pid).filter(|_| pid > 0).ok_or(failed)?
        };
        match self.error.load(Ordering::Acquire) {
            0 => Ok(pid),
            error => {
                retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))?;
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    /// Begins the program, or returns the number of an error.
    ///
    /// # Safety
    /// Only in the child. Nothing is allocated, and only system calls are made.
    unsafe fn execute(&self) -> c_int {
        // SAFETY: all pointers are those of `start`, which waits.
        unsafe {
            for signal in 1..=libc::SIGRTMAX() {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut action);
                // What this process ignores its programs ignore too, but for SIGPIPE, which Rust and Python ignore.
                if action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGPIPE {
                    action.sa_sigaction = libc::SIG_DFL;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            let done = libc::setpgid(0, 0) != -1
                && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != -1
                && libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) != -1
                && libc::chdir(self.directory) != -1
                && libc::dup2(self.input, 0) != -1
                && libc::dup2(self.output, 1) != -1
                && libc::dup2(self.output, 2) != -1
                && libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) != -1;
            // The parent may have ended before it was to be told of.
            if done && libc::getppid() == self.parent {
                libc::execve(self.arguments[0], self.arguments.as_ptr(), self.environment.as_ptr());
            }
            *libc::__errno_location()
        }
    }
}

extern "C" fn begin(order: *mut c_void) -> c_int {
    // SAFETY: this is the child, and the order that of `start`, which waits.
    unsafe {
        let order = &*order.cast::<Order>();
        order.error.store(order.execute(), Ordering::Release);
        libc::_exit(127)
    }
}

/// A program that was started.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// How it ended, once that was asked for.
    status: Option<ExitStatus>,
}

impl Process {
    /// Its number, and that of its group.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.await_end(WaitOptions::NOHANG)
    }

    /// How it ends, once it has.
    pub fn wait(&mut self) -> Option<ExitStatus> {
        self.await_end(WaitOptions::empty())
    }

    fn await_end(&mut self, options: WaitOptions) -> Option<ExitStatus> {
        if self.status.is_none() {
            let found = retry_on_intr(|| waitpid(Some(self.pid), options)).ok().flatten();
            self.status = found.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
        }
        self.status
    }
}
