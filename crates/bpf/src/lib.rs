//! AVQ inside the kernel.
//!
//! [`fixed`] is the algorithm in integers and always there. The programs themselves (`c/`) and what loads
//! them come with the feature `kernel`, where clang was found; without them [`missing`] says why, and every
//! function of [`device`] and [`dctcp`] refuses.

#[cfg(programs)]
pub mod dctcp;
#[cfg(programs)]
pub mod device;
pub mod fixed;
#[cfg(programs)]
mod hooks;
mod interface;
#[cfg(programs)]
mod machine;
#[cfg(programs)]
pub mod object;
#[cfg(not(programs))]
mod without;

#[cfg(not(programs))]
pub use without::{dctcp, device, missing};

pub use interface::{Counters, Error, Setup, Stats};
#[cfg(programs)]
pub use machine::missing;
