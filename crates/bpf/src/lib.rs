//! AQMs and DCTCP as BPF programs in the Linux kernel.
//!
//! [`algorithm`] lists the AQMs in integer arithmetic, a file each ([`law`] says what such a file has): the references for the BPF programs, equal to them bit
//! for bit (`tests/equality.rs`), and close to the simulator's in floating point (`tests/precision.rs`). They are always
//! compiled. The programs (`c/`) and their loader need the feature `kernel` and clang. Without them [`missing`] says why, and every function
//! of [`attachment`] and [`dctcp`] returns an error.

pub mod algorithm;
pub mod arrival;
#[cfg(programs)]
pub mod attachment;
pub mod avq;
pub mod cgroup;
pub mod chokew;
#[cfg(programs)]
pub mod dctcp;
#[cfg(programs)]
mod device;
pub mod drq;
#[cfg(programs)]
mod filter;
pub mod fixed_point;
mod hook;
mod interface;
pub mod law;
pub mod mkc;
#[cfg(programs)]
mod netlink;
pub mod pi;
#[cfg(programs)]
mod pins;
#[cfg(programs)]
pub mod program;
#[cfg(programs)]
mod qdisc;
pub mod red;
#[cfg(programs)]
mod requirements;
pub mod scaled;
#[cfg(not(programs))]
mod unavailable;
mod weights;

#[cfg(not(programs))]
pub use unavailable::{attachment, dctcp, missing};

pub use hook::Hook;
pub use interface::{Counters, Error, Setup, Stats};
#[cfg(programs)]
pub use requirements::missing;
