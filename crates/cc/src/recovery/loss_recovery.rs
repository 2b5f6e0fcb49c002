//! The interface of a loss recovery algorithm.

use super::repair_info::RepairInfo;
use crate::core::{Core, SendContext};
use crate::segment::Ack;

/// A loss recovery algorithm.
pub trait LossRecovery {
    /// An acknowledgement arrives; its ECN echo has been processed.
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>);

    /// An acknowledgement below SND.UNA arrives, which others have overtaken. RFC 9293, section 3.10.7.4: it can be ignored.
    fn on_old_ack(&mut self, _core: &mut Core, _tx: &mut SendContext<'_>, _ack: &Ack<'_>) {}

    /// An acknowledgement up to `ack` with an ECN echo arrives, before the echo is processed. Ends a recovery or a window
    /// reduction that this acknowledgement completes, so that the echo reduces the window which that leaves.
    fn before_echo(&mut self, _core: &mut Core, _ack: u32) {}

    /// The application has written more data, or pacing lets the next segment leave.
    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        core.fill_window(tx, u32::MAX);
    }

    /// The timer [`Core::repair_deadline`] is due. Called only if the algorithm sets it.
    fn on_timer(&mut self, _core: &mut Core, _tx: &mut SendContext<'_>) {}

    /// The retransmission timer has expired; nothing has been done about it yet.
    fn before_timeout(&mut self, _core: &Core, _tx: &SendContext<'_>) {}

    /// The retransmission timer has expired; the core has fallen back to one segment.
    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>);

    /// Its phase and counts, if it keeps a scoreboard that has them.
    fn info(&self) -> Option<RepairInfo> {
        None
    }
}
