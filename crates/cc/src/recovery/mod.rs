//! Loss recovery algorithms, one file each: those of the RFCs, and those of ns-2.35 to reproduce its traces.

mod loss_recovery;
pub mod newreno;
pub mod ns2_newreno;
pub mod ns2_reno;
pub mod ns2_sack1;
pub mod prr;
pub mod rack;
pub mod reno;
mod repair_info;
pub mod sack;

pub use loss_recovery::LossRecovery;
pub use repair_info::{RepairInfo, RepairState};

use crate::config::{Config, Dialect, LossDetection, Recovery};
use crate::core::{Core, SendContext};
use crate::segment::Ack;
use marqueue_core::ring::prefetch_bounds;

/// Any loss recovery algorithm, dispatched by a branch.
#[derive(Clone, Debug)]
pub enum AnyLossRecovery {
    /// RFC 5681.
    Reno(reno::Reno),
    /// RFC 6582.
    NewReno(newreno::NewReno),
    /// RFC 6675.
    Sack(Box<sack::Sack>),
    /// RFC 8985.
    Rack(Box<rack::Rack>),
    /// Agent/TCP/Reno.
    Ns2Reno(ns2_reno::Ns2Reno),
    /// Agent/TCP/Newreno.
    Ns2NewReno(ns2_newreno::Ns2NewReno),
    /// Agent/TCP/Sack1.
    Ns2Sack1(Box<ns2_sack1::Ns2Sack1>),
}

impl AnyLossRecovery {
    /// Prefetches the state, where it is boxed.
    pub fn prefetch(&self) {
        match self {
            AnyLossRecovery::Sack(sack) => prefetch_bounds(&**sack),
            AnyLossRecovery::Rack(rack) => rack.prefetch(),
            AnyLossRecovery::Ns2Sack1(sack) => prefetch_bounds(&**sack),
            AnyLossRecovery::Reno(_)
            | AnyLossRecovery::NewReno(_)
            | AnyLossRecovery::Ns2Reno(_)
            | AnyLossRecovery::Ns2NewReno(_) => {}
        }
    }

    /// The algorithm that the settings select.
    pub fn new(config: &Config) -> AnyLossRecovery {
        match (config.dialect, config.recovery) {
            (Dialect::Rfc, Recovery::Reno) => AnyLossRecovery::Reno(Default::default()),
            (Dialect::Rfc, Recovery::NewReno) => AnyLossRecovery::NewReno(Default::default()),
            (Dialect::Rfc, Recovery::Sack) => match config.loss_detection {
                LossDetection::Dupack => AnyLossRecovery::Sack(Default::default()),
                LossDetection::Rack => AnyLossRecovery::Rack(Default::default()),
            },
            (Dialect::Ns2, Recovery::Reno) => AnyLossRecovery::Ns2Reno(Default::default()),
            (Dialect::Ns2, Recovery::NewReno) => AnyLossRecovery::Ns2NewReno(Default::default()),
            (Dialect::Ns2, Recovery::Sack) => AnyLossRecovery::Ns2Sack1(Default::default()),
        }
    }
}

macro_rules! each {
    ($this:expr, $r:ident => $body:expr) => {
        match $this {
            AnyLossRecovery::Reno($r) => $body,
            AnyLossRecovery::NewReno($r) => $body,
            AnyLossRecovery::Sack($r) => $body,
            AnyLossRecovery::Rack($r) => $body,
            AnyLossRecovery::Ns2Reno($r) => $body,
            AnyLossRecovery::Ns2NewReno($r) => $body,
            AnyLossRecovery::Ns2Sack1($r) => $body,
        }
    };
}

impl LossRecovery for AnyLossRecovery {
    #[inline]
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        each!(self, r => r.on_ack(core, tx, ack))
    }

    fn on_old_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        each!(self, r => r.on_old_ack(core, tx, ack))
    }

    fn before_echo(&mut self, core: &mut Core, ack: u32) {
        each!(self, r => r.before_echo(core, ack))
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        each!(self, r => r.on_data(core, tx))
    }

    fn on_timer(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        each!(self, r => r.on_timer(core, tx))
    }

    fn before_timeout(&mut self, core: &Core, tx: &SendContext<'_>) {
        each!(self, r => r.before_timeout(core, tx))
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        each!(self, r => r.on_timeout(core, tx))
    }

    fn info(&self) -> Option<RepairInfo> {
        each!(self, r => r.info())
    }
}
