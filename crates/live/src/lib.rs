//! The network of a plan, crossed by real packets: two TUN devices, and between them the queues, links
//! and impairments of the simulator.
//!
//! The only clock and the only devices of the tree are here. What can be tested without either is apart:
//! [`header`] (what is read of a packet, and the mark), [`pool`] (where its bytes stand), [`network`] (what
//! becomes of it, with time as an argument), [`audit`] (whether the clock was kept), [`watch`] (what others see of it meanwhile). [`tun`], [`realtime`]
//! and [`engine`] are the rest.

pub mod audit;
pub mod engine;
pub mod header;
pub mod network;
pub mod pool;
pub mod realtime;
pub mod tun;
pub mod watch;
