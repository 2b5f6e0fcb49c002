//! What the host must provide: root rights, BPF for tc, the BPF file system, network namespaces.

use crate::interface::Error;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::Btf;
use libbpf_rs::{ErrorKind, PrintLevel, ProgramType};
use rustix::fs::{statfs, CWD};
use rustix::mount::{mount, MountFlags};
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};
use std::cell::RefCell;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;

/// Mount point of the BPF file system, which keeps pinned objects alive.
const BPFFS: &str = "/sys/fs/bpf";

/// BPF_FS_MAGIC of <linux/magic.h>.
const BPFFS_MAGIC: u32 = 0xcafe_4a11;

thread_local! {
    /// Warnings that libbpf has printed on this thread.
    static COMPLAINTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Why no program can be loaded on this host; `None` if one can.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root may load programs into the kernel".into());
    }
    capture_warnings();
    match ProgramType::SchedCls.is_supported() {
        Ok(true) => None,
        Ok(false) => Some("the kernel takes no BPF programs for tc (CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF)".into()),
        Err(error) => Some(format!("the kernel takes no BPF programs for tc ({error})")),
    }
}

/// Returns an error if something is [`missing`].
pub fn check() -> Result<(), Error> {
    missing().map_or(Ok(()), |what| Err(Error(what)))
}

/// Returns an error if something is [`missing`], or the kernel has no qdiscs in BPF.
pub fn check_qdiscs() -> Result<(), Error> {
    check()?;
    let kernel = Btf::from_vmlinux().map_err(|error| libbpf_error("types of the kernel", &error))?;
    match kernel.type_by_name::<Struct<'_>>("bpf_struct_ops_Qdisc_ops") {
        Some(_) => Ok(()),
        None => Err(Error(
            "this kernel has no queue disciplines in BPF, expected Linux 6.16 or later with CONFIG_NET_SCH_BPF".into(),
        )),
    }
}

/// Returns an error if the kernel does not keep the cgroup of a socket.
pub fn check_cgroups_of_sockets() -> Result<(), Error> {
    let kernel = Btf::from_vmlinux().map_err(|error| libbpf_error("types of the kernel", &error))?;
    match kernel.type_by_name::<Struct<'_>>("sock_cgroup_data") {
        Some(data) if !data.is_empty() => Ok(()),
        _ => Err(Error("this kernel has no cgroups of sockets, expected CONFIG_SOCK_CGROUP_DATA".into())),
    }
}

/// Redirects the warnings of libbpf from standard error into error messages.
fn capture_warnings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
            COMPLAINTS.with_borrow_mut(|all| all.push(line.trim_end().to_string()));
        })));
    });
}

/// Converts an error of libbpf: `what` was attempted, and the warnings of libbpf are appended.
pub fn libbpf_error(what: &str, error: &libbpf_rs::Error) -> Error {
    let said = COMPLAINTS.take().join("\n");
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => " (may this process load BPF programs?)",
        _ => "",
    };
    let warnings = if said.is_empty() { said } else { format!("\n{said}") };
    Error(format!("{what}: {error}{hint}{warnings}"))
}

/// The mount point of the BPF file system. Mounts it if necessary.
///
/// # Errors
/// If it cannot be mounted, or if the mount would be visible in a private mount namespace only. If this cannot be
/// determined, it is mounted.
pub fn bpffs() -> Result<&'static Path, Error> {
    let path = Path::new(BPFFS);
    let is_there = || statfs(path).is_ok_and(|stat| stat.f_type as u32 == BPFFS_MAGIC);
    if is_there() {
        return Ok(path);
    }
    let namespaces = mount_namespace("self").and_then(|own| Ok((own, mount_namespace("1")?)));
    if namespaces.as_ref().is_ok_and(|(own, first)| own != first) {
        // A private mount namespace, as ip netns exec creates: a mount here disappears with its last process.
        return Err(Error(format!(
            "{BPFFS}: hidden in this mount namespace; run the command outside it, with --netns NAME"
        )));
    }
    match mount("bpf", path, "bpf", MountFlags::empty(), None) {
        // Another process may have mounted it meanwhile.
        Ok(()) => Ok(path),
        Err(_) if is_there() => Ok(path),
        Err(error) => {
            let unknown = namespaces.err().map_or(String::new(), |Error(what)| format!("; {what}"));
            Err(Error(format!("{BPFFS}: the file system of BPF cannot be mounted ({error}){unknown}")))
        }
    }
}

/// The mount namespace of a process.
fn mount_namespace(process: &str) -> Result<PathBuf, Error> {
    let path = format!("/proc/{process}/ns/mnt");
    fs::read_link(&path).map_err(|error| Error(format!("{path}: cannot be read ({error})")))
}

/// Runs `work` in the network namespace of that file, or in the current one, on a thread of its own.
///
/// # Errors
/// Those of `work`, or if there is no such namespace.
pub fn in_namespace<T: Send>(netns: Option<&Path>, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let enter = || {
        if let Some(path) = netns {
            let refused = |error: &dyn std::fmt::Display| {
                Error(format!("{}: got no network namespace ({error})", path.display()))
            };
            let file = fs::File::open(path).map_err(|error| refused(&error))?;
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| refused(&error))?;
        }
        capture_warnings();
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The inode number of the network namespace of this thread.
///
/// # Errors
/// If /proc is not mounted.
pub fn namespace() -> Result<u64, Error> {
    let path = "/proc/thread-self/ns/net";
    rustix::fs::statat(CWD, path, rustix::fs::AtFlags::empty())
        .map(|stat| stat.st_ino)
        .map_err(|error| Error(format!("{path}: {error}")))
}
