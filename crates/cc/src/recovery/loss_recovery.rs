//! The interface of a loss recovery algorithm.

use crate::core::{Core, SendContext};
use crate::segment::Ack;

/// A loss recovery algorithm.
pub trait LossRecovery {
    /// An acknowledgement arrives; its ECN echo has been processed.
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>);

    /// The application has written more data.
    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        core.fill_window(tx, u32::MAX);
    }

    /// The timer [`Core::repair_deadline`] is due. Called only if the algorithm sets it.
    fn on_timer(&mut self, _core: &mut Core, _tx: &mut SendContext<'_>) {}

    /// The retransmission timer has expired; the core has fallen back to one segment.
    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>);
}
