//! AQM policies and the queueing disciplines that are made of them.
//!
//! A *policy* ([`policy::Aqm`]) decides: pass, mark or drop. A *discipline* ([`qdisc::Qdisc`])
//! holds the packets. [`algo::Discipline`] is the one list of all of them.

pub mod algo;
mod arrival_rate;
mod buffer;
mod door;
pub mod fair;
mod hashing;
pub mod mode;
pub mod policy;
pub mod qdisc;
mod ticks;
mod virtual_queue;

pub use algo::{catalogue, Discipline, Entry};
pub use buffer::{Buffer, Drawn};
pub use door::{Counters, Door, Reason};
pub use fair::{Fair, Scheduler};
pub use mode::Mode;
pub use policy::{Aqm, Cx, Densities, Env, Limit, Signal, Verdict};
pub use qdisc::{Fate, Qdisc, Single};
