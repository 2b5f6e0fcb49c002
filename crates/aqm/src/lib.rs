#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - [`embed`]: queues for other programs.
//! - [`policy`]: a policy ([`Aqm`]) decides whether a packet passes, is marked or is dropped.
//! - [`qdisc`]: a discipline ([`Qdisc`]) holds packets. [`SingleQueue`] is first in, first out under one policy.
//! - [`scheduler`]: [`MultiQueue`] holds one queue for each flow or class; a [`Scheduler`] picks the queue to serve.
//! - [`Counters`]: the counts of arrivals, departures, drops and marks of a queue.
//! - [`program`]: a policy that is a program of the user's.
//! - [`Outside`]: a queue that another program manages, such as a kernel.
//! - [`algo`]: the algorithms, one file each, and the list of them ([`Discipline`]).

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

#[macro_use]
extern crate alloc;

mod accounting;
pub mod algo;
mod algorithm;
mod arrival_rate;
mod base_pi;
mod buffer;
mod counting_unit;
mod dequeue_rate;
mod dual_queue;
pub mod embed;
mod flow_hash;
mod key_index;
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
pub use embed::{Bottleneck, Config, Delivery, Departure, Dropped, Header, PacketQueue};
pub use marqueue_core::{Bytes, Dscp, Dur, Ecn, ParamError, Rate, Time, Value};
pub use outside::Outside;
pub use policy::{Aqm, Context, Densities, Env, Limit, Signal, Verdict};
pub use qdisc::{EnqueueOutcome, Qdisc, SingleQueue};
pub use scheduler::{MultiQueue, Scheduler};
