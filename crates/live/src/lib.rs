//! Carries real packets through the network of a plan: two TUN devices, and between them the queues, links and
//! impairments of the simulator.
//!
//! This is the only crate that reads a clock or a device. The modules that need neither are testable on their own:
//! - [`header`] reads the fields of a packet and writes its ECN field.
//! - [`packet_pool`] stores the bytes of packets.
//! - [`network`] computes what happens to a packet, with time as an argument.
//! - [`audit`] records whether the machine kept up.
//! - [`sample_feed`] passes samples to another thread while the network runs.
//!
//! [`event_loop`] connects them to the devices ([`tun`]) and the clock ([`clock`]).

pub mod audit;
pub mod clock;
pub mod event_loop;
pub mod header;
pub mod network;
pub mod packet_pool;
pub mod sample_feed;
pub mod tun;
