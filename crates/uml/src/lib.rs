//! Linux kernels as end hosts and routers of the packet simulator.
//!
//! A guest is a kernel built as user-mode Linux and run with `time-travel=ext`: it has no clock of its own, and asks
//! this crate for each step of time. Its network devices are rings in its memory, which this crate serves. So a run is
//! a function of the plan, the seed and the kernels, whatever else the machine does.
//!
//! - [`shared_memory`] is the only access to memory that a guest can write; [`ring`] reads and fills rings there.
//! - [`vhost_user`] serves one network device, [`clock`] is the time protocol, [`process`] starts and ends a guest,
//!   [`spawn`] starts any program without a fork.
//! - [`guest`] joins these; [`hosts`] says which guests a plan needs, [`guest_plan`] what each of them does, and
//!   [`network`] carries their frames through the simulator.
//! - [`router`] says which guests are queues of links, and gives their packets frames.
//! - [`telemetry`] is what guests report, [`tcp_info`] what their kernels say of a connection.
//! - [`run`] is the loop over both calendars.

pub mod clock;
pub mod error;
pub mod frame;
pub mod guest;
pub mod guest_plan;
pub mod hosts;
pub mod initramfs;
pub mod network;
pub mod outcome;
pub mod process;
pub mod ring;
pub mod router;
pub mod run;
pub mod shared_memory;
pub mod spawn;
pub mod tcp_info;
pub mod telemetry;
pub mod vhost_user;

pub use error::Error;
pub use run::{check, run, KernelFiles};
