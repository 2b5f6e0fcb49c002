//! How programs are started.

use marqueue_uml::process::PrivateDirectory;
use marqueue_uml::spawn::{Process, Program};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

static PREPARED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn prepare() {
    PREPARED.fetch_add(1, Ordering::Relaxed);
}

/// Starts `path` in a directory with a file `out`.
fn start(path: &str, arguments: &[&str], directory: &PrivateDirectory) -> io::Result<Process> {
    let output = File::create(directory.path().join("out"))?;
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let path = Path::new(path);
    Program { path, arguments: &arguments, environment: &["WHO=me"], directory: directory.path(), output: &output }
        .start()
}

#[test]
#[allow(unsafe_code, reason = "registers a handler, which has no safe form")]
fn handlers_of_libraries_for_a_fork_do_not_run() {
    // SAFETY: the handler adds to a number.
    assert_eq!(unsafe { libc::pthread_atfork(Some(prepare), None, None) }, 0);
    let directory = PrivateDirectory::new().unwrap();
    assert!(start("/bin/true", &[], &directory).unwrap().wait().unwrap().success());
    assert_eq!(PREPARED.load(Ordering::Relaxed), 0);
}

#[test]
fn a_program_has_the_environment_the_directory_and_a_group_of_its_own() {
    let directory = PrivateDirectory::new().unwrap();
    let script = "echo $WHO, $HOME; pwd; echo $$ >&2; cut -d' ' -f5 /proc/self/stat; read line || echo nothing";
    let mut process = start("/bin/sh", &["-c", script], &directory).unwrap();
    assert!(process.wait().unwrap().success());
    let said = fs::read_to_string(directory.path().join("out")).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "me,", "this test has a HOME, the program none");
    assert_eq!(Path::new(lines[1]).canonicalize().unwrap(), directory.path().canonicalize().unwrap());
    let pid = process.pid().as_raw_nonzero().to_string();
    assert_eq!(lines[2..], [pid.as_str(), pid.as_str(), "nothing"]);
}

#[test]
fn what_cannot_be_started_says_why() {
    let directory = PrivateDirectory::new().unwrap();
    assert_eq!(start("/bin/no-such-program", &[], &directory).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(start("/dev/null", &[], &directory).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn an_end_is_told_once_it_is_there_and_stays() {
    let directory = PrivateDirectory::new().unwrap();
    let mut process = start("/bin/sh", &["-c", "kill -TERM $$"], &directory).unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(15));
    assert_eq!(process.ended().unwrap().signal(), Some(15));
}
