//! AVQ and DCTCP as BPF programs in the Linux kernel.
//!
//! [`fixed_point`] is AVQ in integer arithmetic, the reference for the BPF program. It is always compiled. The programs
//! (`c/`) and their loader need the feature `kernel` and clang. Without them [`missing`] says why, and every function
//! of [`device`] and [`dctcp`] returns an error.

#[cfg(programs)]
pub mod dctcp;
#[cfg(programs)]
pub mod device;
pub mod fixed_point;
mod interface;
#[cfg(programs)]
pub mod program;
#[cfg(programs)]
mod requirements;
#[cfg(programs)]
mod tc_hooks;
#[cfg(not(programs))]
mod unavailable;

#[cfg(not(programs))]
pub use unavailable::{dctcp, device, missing};

pub use interface::{Counters, Error, Setup, Stats};
#[cfg(programs)]
pub use requirements::missing;
