//! The interface of a loss recovery algorithm.

use crate::core::{Core, SendContext};
use crate::segment::Ack;

/// A way to repair losses.
pub trait LossRecovery {
    /// An acknowledgement arrives; the ECN echo has been answered.
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>);

    /// The application has written more data.
    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        core.fill_window(tx, u32::MAX);
    }

    /// The time of [`Core::repair_deadline`] has come, which only a way that sets it hears of.
    fn on_timer(&mut self, _core: &mut Core, _tx: &mut SendContext<'_>) {}

    /// The retransmission timer has expired; the core has fallen back to one segment.
    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>);
}
