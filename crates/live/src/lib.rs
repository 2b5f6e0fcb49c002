//! Carries real packets through the network of a plan: two TUN devices, and between them the queues, links and
//! impairments of the simulator.
//!
//! This is the only crate that reads a clock or a device. The modules that need neither are testable on their own:
//! - [`header`] reads the fields of a packet and writes its ECN field.
//! - [`offload`] cuts packets of up to 64 KB into segments, and [`coalescing`] puts them together again.
//! - [`paced_packet`] reads and writes the fields of packets of rate-based flows.
//! - [`packet_pool`] stores the bytes of packets.
//! - [`network`] computes what happens to a packet, with time as an argument.
//! - [`polling`] says how long the thread polls, and when it must rest.
//! - [`audit`] records whether the machine kept up.
//! - [`sample_feed`] passes samples to another thread while the network runs.
//!
//! [`event_loop`] connects them to the devices ([`tun`]) and the clock ([`clock`]). [`paced_flows`] sends and receives
//! rate-based flows through UDP sockets.

pub mod audit;
pub mod clock;
pub mod coalescing;
pub mod event_loop;
pub mod header;
pub mod namespace;
pub mod network;
pub mod offload;
pub mod paced_flows;
pub mod paced_packet;
pub mod packet_pool;
pub mod polling;
pub mod sample_feed;
pub mod stop_handle;
pub mod tun;
