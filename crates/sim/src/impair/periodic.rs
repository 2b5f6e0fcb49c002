//! Periodic losses: every n-th packet is lost. The square-root law is derived from this pattern.
//!
//! Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm",
//! ACM CCR 27(3), 1997, section 2. As the pattern is deterministic, it also shows the reaction to
//! a single loss.

use super::loss_model::LossModel;
use marqueue_core::params::{required, ParamError};
use marqueue_core::Rng;

marqueue_core::params! {
    /// Parameters of periodic losses.
    pub struct Params {
        /// Number of packets from one loss to the next.
        every: Option<f64> { unit: Packets, range: 1 => 1e9, default: None, source: "Mathis et al. 1997" },
    }
}

/// Periodic losses with their state.
#[derive(Debug)]
pub struct Periodic {
    every: u32,
    /// Packets since the last loss.
    since_loss: u32,
}

impl LossModel for Periodic {
    const NAME: &'static str = "periodic";
    const SUMMARY: &'static str = "Every n-th packet is lost";
    const SOURCE: &'static str = "Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997, section 2";
    type Params = Params;

    fn new(params: &Params) -> Result<Self, ParamError> {
        let every = required(params.every, "every")?;
        if every.fract() != 0.0 {
            return Err(ParamError::new("every", format!("got {every}, expected a whole number of packets")));
        }
        Ok(Periodic { every: every as u32, since_loss: 0 })
    }

    fn is_lost(&mut self, _: &mut Rng) -> bool {
        self.since_loss += 1;
        let lost = self.since_loss == self.every;
        if lost {
            self.since_loss = 0;
        }
        lost
    }
}
