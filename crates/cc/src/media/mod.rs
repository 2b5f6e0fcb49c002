//! Real-time media: frames in packets of RTP over UDP, whose sender tells an encoder what rate to produce.
//!
//! Nothing is retransmitted. The receiver reports which packets came, when and with which ECN field ([`feedback`]); the
//! sender ([`sender`]) keeps frames in a queue, paces their packets within a window, and finds losses; a control
//! ([`scream`]) sets window, pacing rate and the rate of the encoder.

pub mod feedback;
pub mod scream;
pub mod sender;

pub use feedback::{Feedback, Receiver};
pub use scream::Scream;
pub use sender::{Sender, Setting};

use marqueue_core::params::{Entry, ParamError, ParamSet, PolicySpec};

/// Headers of IPv4 and UDP, bytes.
pub const UDP_HEADER: u32 = 28;
/// Header of RTP, bytes.
pub const RTP_HEADER: u32 = 12;

/// All controls of media flows.
pub fn catalogue() -> Vec<Entry> {
    vec![Entry {
        name: scream::NAME,
        summary: scream::SUMMARY,
        source: scream::SOURCE,
        params: scream::Params::specs(),
    }]
}

/// The parameters of the control that `spec` names.
///
/// # Errors
/// If the name is unknown or a parameter is refused.
pub fn parameters(spec: &PolicySpec) -> Result<scream::Params, ParamError> {
    if spec.name != scream::NAME {
        return Err(ParamError::new("name", format!("got \"{}\", expected {}", spec.name, scream::NAME)));
    }
    scream::Params::from_values(&spec.params)
}
