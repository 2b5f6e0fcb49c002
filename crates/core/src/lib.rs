//! The types that every other crate shares: units, packets, random streams, parameter declarations.
//!
//! Nothing here reads a clock, the environment or a global generator.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

#[doc(hidden)] // for the macros
#[macro_use]
pub extern crate alloc;

pub mod curve;
pub mod dscp;
pub mod math;
pub mod packed;
pub mod packet;
mod param_value;
pub mod params;
pub mod ring;
pub mod rng;
mod seeds;
pub mod signals;
pub mod units;

pub use curve::{MarkingCurve, ScaledCurve};
pub use dscp::{Dscp, PerDscp};
pub use packed::{Form, Forms, PackedPackets};
pub use packet::{Ecn, Flags, Head, Packet};
pub use params::{ParamError, ParamSpec, ParamValues, PolicySpec, Value};
pub use rng::Rng;
pub use seeds::replication_seed;
pub use signals::{Price, Signals};
pub use units::{Bytes, Dur, Hz, MicroCycles, Rate, Time};
