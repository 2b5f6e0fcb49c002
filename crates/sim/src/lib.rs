//! The packet simulator: runs a [`plan::Plan`] with a seed and returns a [`result::RunResult`].
//!
//! A packet passes through these modules:
//! 1. [`traffic`] creates it, or the sender of a [`flow`] does.
//! 2. [`route`] says which stage comes next.
//! 3. [`resource`] queues and serves it (a link or a [`cpu`]); a link without a managed queue is a [`wire`],
//!    and [`flow_links`] is a link for each flow.
//!    [`medium`] has the models of links that wait for opportunities to send.
//! 4. [`impair`] may lose, delay or reorder it behind the transmitter.
//! 5. [`engine`] delivers it to the next stage.
//! 6. The receiver of the [`flow`] answers; the acknowledgement takes the reverse route.
//!
//! [`parallel`] runs one plan on several threads, by a [`partition`] of its network.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

mod batch;
mod calendar;
mod catalogue;
mod coming_flows;
mod control;
mod cpu;
pub mod delay_bins;
pub mod delay_law;
pub mod delivery_trace;
mod digest;
mod ecn_field;
mod engine;
mod estimate;
mod events;
pub mod external;
mod flow;
mod flow_delays;
mod flow_links;
mod flow_rows;
mod flow_sizes;
mod frame_source;
pub mod impair;
mod in_flight;
mod line;
mod link_plan;
mod load;
mod mailboxes;
mod media_plan;
pub mod medium;
pub mod meter;
mod next_events;
pub mod packet_options;
mod parallel;
mod partition;
pub mod plan;
mod plan_check;
mod playback;
mod prepare;
pub mod programs;
pub mod queue_times;
mod quic_plan;
pub mod resource;
pub mod result;
mod route;
pub mod run;
mod slots;
mod stack_plan;
mod timers;
mod timing_wheel;
pub mod trace;
mod traffic;
mod traffic_plan;
mod watcher;
mod window_meter;
pub mod wire;

pub use catalogue::catalogue;
pub use control::Control;
pub use digest::digest;
pub use engine::{Engine, Progress};
pub use estimate::{estimated_bytes, Estimate, MemoryParts};
pub use flow_rows::FlowSink;
pub use parallel::{rehearse, run_in_order, run_on, threads_for, threads_that_pay, Rehearsal};
pub use partition::OneThread;
pub use plan_check::check_links;
pub use prepare::build_resource;
pub use run::{check, run, run_with, Run, RunError};
pub use watcher::{LinkSoFar, SoFar, Watcher};
