//! A TCP sender: the interface that its host calls at the start, at acknowledgements and at timers.

use crate::accecn::Marks;
use crate::config::{Config, Recovery};
use crate::core::{Core, SendContext};
use crate::law_list::{EchoMode, Law};
use crate::path_model::ModelInfo;
use crate::recovery::{AnyLossRecovery, LossRecovery, RepairInfo};
use crate::segment::{Ack, Segment};
use marqueue_core::Time;

/// A TCP sender.
#[derive(Clone, Debug)]
pub struct Sender {
    core: Core,
    repair: AnyLossRecovery,
}

impl Sender {
    /// A sender with `size` segments of data, or with endless data. `phase`, uniform on [0, 1), is the phase of its
    /// clock within one tick.
    pub fn new(config: &Config, size: Option<u32>, phase: f64) -> Sender {
        Sender { core: Core::new(config, size, phase), repair: AnyLossRecovery::new(config) }
    }

    /// The application has no data yet and writes it in pieces with [`Sender::write`]. Call this before the connection
    /// opens.
    pub fn write_in_pieces(&mut self) {
        self.core.write_in_pieces();
    }

    /// The application writes the next `n` segments.
    pub fn write(&mut self, config: &Config, now: Time, n: u32, out: &mut Vec<Segment>) {
        let before = out.len();
        let mut tx = SendContext { now, config, out };
        self.core.write(&tx, n);
        self.repair.on_data(&mut self.core, &mut tx);
        self.core.mark_bursts(config, &mut out[before..]);
    }

    /// Opens the connection: sends the SYN, or data if the connection starts established.
    pub fn start(&mut self, config: &Config, now: Time, out: &mut Vec<Segment>) {
        let mut tx = SendContext { now, config, out };
        if config.handshake {
            self.core.nxt = 1;
            self.core.send(&mut tx, 0);
        } else {
            self.core.establish(&tx);
            self.repair.on_data(&mut self.core, &mut tx);
        }
    }

    /// An acknowledgement arrives.
    pub fn on_ack(&mut self, config: &Config, now: Time, ack: &Ack<'_>, out: &mut Vec<Segment>) {
        let before = out.len();
        self.read_ack(config, now, ack, out);
        self.core.mark_bursts(config, &mut out[before..]);
    }

    fn read_ack(&mut self, config: &Config, now: Time, ack: &Ack<'_>, out: &mut Vec<Segment>) {
        // RFC 9293, 3.10.7.3 and 3.10.7.4: an acknowledgement that covers not even the SYN is ignored. One that
        // covers what was never sent would be answered; no receiver here sends one, and it is ignored too.
        if ack.ack < 1 || ack.ack > self.core.max {
            return;
        }
        let mut tx = SendContext { now, config, out };
        // Only its SACK blocks may be news: its ECN echo and the counters of AccECN are older than what has been read.
        if ack.ack < self.core.una {
            return self.repair.on_old_ack(&mut self.core, &mut tx, ack);
        }
        // The echo in the SYN-ACK only negotiates ECN.
        let decoded;
        let mut ack = ack;
        if self.core.ecn_negotiated {
            let arrived = ack.ack - self.core.una;
            let mut marks = Marks { arrived, marked: if ack.ece { arrived } else { 0 } };
            if config.feedback == EchoMode::Counted {
                marks = self.core.count_marks(config, ack);
                decoded = Ack { ece: marks.marked > 0, ..*ack };
                ack = &decoded;
            }
            if ack.ece {
                self.repair.before_echo(&mut self.core, ack.ack);
            }
            self.core.on_echo(&tx, ack.ack, ack.ece, marks);
        }
        self.repair.on_ack(&mut self.core, &mut tx, ack);
        if self.core.is_done() {
            self.core.stop_timers();
        }
    }

    /// A timer is due ([`Sender::deadline`]).
    pub fn on_timer(&mut self, config: &Config, now: Time, out: &mut Vec<Segment>) {
        let mut tx = SendContext { now, config, out };
        if self.core.end_pacing_wait(now) {
            return self.repair.on_data(&mut self.core, &mut tx);
        }
        if self.core.repair_deadline <= now {
            self.core.repair_deadline = Time::NEVER;
            return self.repair.on_timer(&mut self.core, &mut tx);
        }
        self.repair.before_timeout(&self.core, &tx);
        self.core.on_timeout(&mut tx);
        self.repair.on_timeout(&mut self.core, &mut tx);
    }

    /// Sends no new data. The flow ends once everything sent is acknowledged.
    pub fn stop(&mut self) {
        self.core.limit = self.core.limit.min(self.core.max.max(1));
        self.core.end = self.core.limit;
        if self.core.is_done() {
            self.core.stop_timers();
        }
    }

    /// When [`Sender::on_timer`] is due. The timers exclude each other: the retransmission timer waits while the loss
    /// recovery's is armed (RFC 8985, section 8). A segment that waits for its time under pacing has a time of its own.
    #[inline]
    pub fn deadline(&self) -> Time {
        let timer = match self.core.repair_deadline {
            Time::NEVER => self.core.deadline,
            due => due,
        };
        timer.min(self.core.pacing_due())
    }

    /// Have the ends of a connection with such settings state outside themselves, or do their packets have options?
    pub fn has_parts(config: &Config) -> bool {
        let is_plain = config.control == Law::Reno && config.recovery != Recovery::Sack;
        !is_plain || config.timestamps || config.quick_acks
    }

    /// Prefetches what is outside a sender: the state of its window law and of its loss recovery. It must be in the cache
    /// itself.
    pub fn prefetch_parts(&self) {
        self.core.prefetch_parts();
        self.repair.prefetch();
    }

    /// Prefetches what the loss recovery knows of segments. What [`Sender::prefetch_parts`] prefetches must be in the cache.
    pub fn prefetch_segments(&self) {
        if let AnyLossRecovery::Rack(rack) = &self.repair {
            rack.prefetch_segments();
        }
    }

    /// Has all data been acknowledged?
    pub fn is_done(&self) -> bool {
        self.core.is_done()
    }

    /// The loss recovery's phase and counts, where it keeps a scoreboard that has them: RACK.
    pub fn repair(&self) -> Option<RepairInfo> {
        self.repair.info()
    }

    /// The model of the path, for traces, if the window law has one.
    pub fn model(&mut self, config: &Config) -> Option<ModelInfo> {
        self.core.model_info(config)
    }

    /// The state, for traces and tables.
    pub fn core(&self) -> &Core {
        &self.core
    }
}
