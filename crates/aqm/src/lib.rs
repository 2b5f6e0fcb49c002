//! Active queue management: policies, schedulers and the queueing disciplines that are built from them.
//!
//! - [`policy`]: a policy ([`Aqm`]) decides whether a packet passes, is marked or is dropped.
//! - [`qdisc`]: a discipline ([`Qdisc`]) holds packets. [`SingleQueue`] is first in, first out under one policy.
//! - [`scheduler`]: [`MultiQueue`] holds one queue for each flow or class; a [`Scheduler`] picks the queue to serve.
//! - `accounting`: the counts of arrivals, departures, drops and marks of a queue.
//! - [`program`]: a policy that is a program of the user's.
//! - [`Outside`]: a queue that another program manages, such as a kernel.
//! - [`algo`]: the algorithms, one file each, and the list of them ([`Discipline`]).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

mod accounting;
pub mod algo;
pub mod algorithm;
mod arrival_rate;
mod base_pi;
mod buffer;
pub mod counting_unit;
mod dequeue_rate;
pub mod dual_queue;
mod flow_hash;
mod l4s_fields;
mod likelihood;
mod outside;
mod periodic_timer;
pub mod policy;
pub mod program;
pub mod qdisc;
pub mod queue_protection;
mod queues;
pub mod scheduler;
mod sparse_first;
mod virtual_queue;

pub use accounting::{Accounting, Counters, Reason};
pub use algo::{catalogue, Discipline, Entry};
pub use buffer::{Buffer, Drawn};
pub use counting_unit::CountingUnit;
pub use outside::Outside;
pub use policy::{Aqm, Context, Densities, Env, Limit, Signal, Verdict};
pub use qdisc::{EnqueueOutcome, Qdisc, SingleQueue};
pub use scheduler::{MultiQueue, Scheduler};
