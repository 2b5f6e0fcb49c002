//! libmarqueue: the queues of `marqueue-aqm` for programs in C, with the header `include/marqueue.h`.
//!
//! A program describes a queue (`marqueue_config_...`), builds it (`marqueue_new_queue` or `marqueue_new_link`), gives it
//! packets and takes packets. Packets are known by a number that the program chooses. Every function returns a
//! [`Status`]; [`marqueue_error`] has the words. Null pointers, values out of range and unknown names are refused. A panic,
//! which is a bug, ends in [`Status::Panicked`] and not in the program; its queue then refuses all calls.
//!
//! The rules for pointers are the same for all functions: a pointer is null, or it points to a value of its type that nothing
//! else uses during the call. Handles come from this library and were not freed. Text ends with a zero byte.

mod config;
mod failure;
mod queue;

pub use config::*;
pub use failure::*;
pub use queue::*;
