//! Reduction of the window to ssthresh during recovery: at once, or by proportional rate reduction (RFC 9937).
//!
//! While more than ssthresh is in flight, an acknowledgement in recovery lets
//! sndcnt = ceil(prr_delivered ssthresh / RecoverFS) - prr_out
//! segments be sent (RFC 9937, section 6.2; RFC 6937, section 3): the window falls to ssthresh over one round trip. With
//! less in flight, as many segments may be sent as were delivered, and one more if the acknowledgement advances and
//! reports no further loss, up to ssthresh.
//! Without SACK, a duplicate acknowledgement counts as one segment delivered. Of the segments that SND.UNA passes, only
//! those count for which there was no duplicate. The total is at most what was in flight (section 6.2), so that a
//! receiver gains nothing by sending more duplicates.
//!
//! Differences of RFC 9937 from RFC 6937: the bound is chosen at each acknowledgement; the conservative bound lets at
//! least what has just been delivered be sent; the first acknowledgement always sends the fast retransmit; RecoverFS
//! excludes what was sacked before.
//!
//! Departures:
//! - Counts are in segments, not bytes.
//! - A recovery that the reordering timer begins has delivered nothing yet and sends only the fast retransmit.
//! - An acknowledgement that delivers nothing does not change what may be sent, counted from what is in flight now. The
//!   RFC keeps the window, so that losses detected meanwhile would be retransmitted at once, beyond what was delivered.
//! - Without SACK, duplicates before recovery reduce RecoverFS as sacked segments do. Recovery is then the same with and
//!   without SACK.

use crate::config::Reduction;
use crate::core::Core;

/// The kind of reduction, with its state.
#[derive(Clone, Debug, Default)]
pub enum WindowReduction {
    /// The window is ssthresh from the start.
    #[default]
    AtOnce,
    /// The window follows delivered segments. Boxed, because most flows are not in recovery.
    InProportion(Box<Prr>),
}

/// State of proportional rate reduction in one recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// RecoverFS: what was in flight when recovery began.
    recover_flight: u32,
    /// prr_delivered.
    delivered: u32,
    /// prr_out.
    out: u32,
}

/// What an acknowledgement in recovery reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Segments that it reports as delivered (DeliveredData).
    pub delivered: u32,
    /// Segments estimated to be in the network, before anything is sent in response.
    pub in_flight: u32,
    /// True if it advances SND.UNA and reports no further loss (SafeACK).
    pub safe: bool,
}

impl WindowReduction {
    /// A recovery begins, `flight` segments having been in flight before the acknowledgement that told
    /// of the loss.
    pub fn begin(reduction: Reduction, flight: u32) -> WindowReduction {
        match reduction {
            Reduction::Cut => WindowReduction::AtOnce,
            Reduction::Prr => {
                WindowReduction::InProportion(Box::new(Prr { recover_flight: flight.max(1), delivered: 0, out: 0 }))
            }
        }
    }

    /// Sets the window for what may be sent in response to an acknowledgement.
    pub fn on_ack(&mut self, core: &mut Core, progress: Progress) {
        if let WindowReduction::InProportion(prr) = self {
            let ssthresh = core.window.ssthresh;
            let send = prr.send(progress, ssthresh);
            core.window.cwnd = (f64::from(progress.in_flight) + send).max(1.0);
        }
    }

    /// Of `n` segments that seem to be delivered but are not sacked, the number that may be counted (RFC 9937, section
    /// 6.2).
    pub fn credible(&self, n: u32) -> u32 {
        match self {
            WindowReduction::AtOnce => n,
            WindowReduction::InProportion(prr) => n.min(prr.recover_flight.saturating_sub(prr.delivered)),
        }
    }

    /// `n` segments were sent, new or old.
    pub fn sent(&mut self, n: u32) {
        if let WindowReduction::InProportion(prr) = self {
            prr.out += n;
        }
    }

    /// Recovery is over.
    pub fn end(&mut self, core: &mut Core) {
        if let WindowReduction::InProportion(_) = std::mem::take(self) {
            core.window.cwnd = core.window.ssthresh;
        }
    }
}

impl Prr {
    /// RFC 9937, section 6.2: sndcnt.
    fn send(&mut self, progress: Progress, ssthresh: f64) -> f64 {
        let Progress { delivered, in_flight, safe } = progress;
        self.delivered += delivered;
        let (all, out) = (f64::from(self.delivered), f64::from(self.out));
        let room = ssthresh.floor() - f64::from(in_flight);
        let send = if room < 0.0 {
            (all * ssthresh / f64::from(self.recover_flight)).ceil() - out
        } else {
            ((all - out).max(f64::from(delivered)) + f64::from(u8::from(safe))).min(room)
        };
        // The fast retransmit is sent in any case.
        send.max(f64::from(u8::from(self.out == 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes out with each acknowledgement of `delivered` segments; `loss` of the segments that were
    /// in flight at first are lost and known to be.
    fn sent(flight: u32, ssthresh: f64, loss: u32, acks: u32) -> Vec<u32> {
        let mut prr = Prr { recover_flight: flight, delivered: 0, out: 0 };
        let mut in_flight = flight - loss;
        let mut sent = Vec::new();
        for _ in 0..acks {
            in_flight -= 1;
            let n = prr.send(Progress { delivered: 1, in_flight, safe: false }, ssthresh).max(0.0) as u32;
            prr.out += n;
            in_flight += n;
            sent.push(n);
        }
        sent
    }

    #[test]
    fn half_the_acknowledgements_send_if_the_window_is_halved() {
        // 20 in flight, one of them lost: every second acknowledgement admits one segment. At the 17th
        // ssthresh is reached, and the next segment waits until there is room below it (as in the first
        // example of RFC 6937, 3.1).
        assert_eq!(sent(20, 10.0, 1, 18), [[1, 0].repeat(8), vec![0, 1]].concat());
    }

    #[test]
    fn seven_of_ten_send_under_cubic() {
        let out = sent(20, 14.0, 1, 10);
        assert_eq!(out.iter().sum::<u32>(), 7);
        assert!(out.iter().all(|&n| n <= 1), "in step with the acknowledgements: {out:?}");
    }

    #[test]
    fn what_arrives_is_replaced_if_more_was_lost_than_the_cut_takes() {
        // 15 of 20 lost: the packet-conserving bound sends one for one.
        assert_eq!(sent(20, 10.0, 15, 5), [1; 5]);
    }

    #[test]
    fn a_safe_acknowledgement_sends_one_more_up_to_ssthresh() {
        let mut prr = Prr { recover_flight: 20, delivered: 5, out: 5 };
        assert_eq!(prr.send(Progress { delivered: 1, in_flight: 4, safe: true }, 10.0), 2.0);
        assert_eq!(prr.send(Progress { delivered: 4, in_flight: 9, safe: true }, 10.0), 1.0);
    }

    #[test]
    fn what_the_application_did_not_send_stays_banked() {
        let mut prr = Prr { recover_flight: 20, delivered: 10, out: 2 };
        // Nothing to send for a while: 11 x 10/20 - 2, rounded up.
        assert_eq!(prr.send(Progress { delivered: 1, in_flight: 12, safe: false }, 10.0), 4.0);
    }
}
