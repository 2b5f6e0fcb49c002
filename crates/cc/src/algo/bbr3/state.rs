//! The states, and the variables of the bounds that losses set and of the phases of ProbeBW. What BBR does with them is in
//! `bounds` and `probe_bw`.

use crate::path_model::ModelState;
use marqueue_core::{Dur, Rng, Time};

/// BBR.LossThresh.
pub const LOSS_THRESH: f64 = 0.02;
/// BBR.Beta.
pub const BETA: f64 = 0.7;
/// No bound, and no round-trip time.
pub const INFINITE: f64 = f64::INFINITY;

/// BBR.state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate each round trip.
    #[default]
    Startup,
    /// Empties the queue of Startup.
    Drain,
    /// Gives way, until there is room.
    Down,
    /// Keeps to the estimate.
    Cruise,
    /// Fills the pipe before a probe.
    Refill,
    /// Probes for more.
    Up,
    /// Measures the least round-trip time.
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    pub fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW.
    pub fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// Pacing gain and window gain.
    pub fn gains(self) -> (f64, f64) {
        match self {
            State::Startup => (2.77, 2.0),
            State::Drain => (0.5, 2.0),
            State::Down => (0.9, 2.0),
            State::Cruise | State::Refill => (1.0, 2.0),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, 0.5),
        }
    }
}

impl From<State> for ModelState {
    fn from(state: State) -> ModelState {
        match state {
            State::Startup => ModelState::Startup,
            State::Drain => ModelState::Drain,
            State::Down => ModelState::Down,
            State::Cruise => ModelState::Cruise,
            State::Refill => ModelState::Refill,
            State::Up => ModelState::Up,
            State::ProbeRtt => ModelState::ProbeRtt,
        }
    }
}

/// Bounds and signals. Volumes are in segments.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// BBR.bw_shortterm.
    pub bw_shortterm: f64,
    /// BBR.inflight_shortterm.
    pub inflight_shortterm: f64,
    /// BBR.inflight_longterm.
    pub inflight_longterm: f64,
    /// BBR.bw_latest.
    pub bw_latest: f64,
    /// BBR.inflight_latest.
    pub inflight_latest: u32,
    /// BBR.is_loss_in_round.
    pub loss_in_round: bool,
    /// BBR.loss_round_delivered.
    pub round_delivered: u32,
    /// BBR.loss_round_start.
    pub round_start: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            bw_shortterm: INFINITE,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_in_round: false,
            round_delivered: 0,
            round_start: false,
        }
    }
}

impl Bounds {
    /// ResetShortTermModel.
    pub fn reset_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (INFINITE, INFINITE);
    }

    /// ResetCongestionSignals.
    pub fn reset_signals(&mut self) {
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0);
    }

    /// InitLowerBounds and LossLowerBounds.
    pub fn lower(&mut self, max_bw: f64, cwnd: f64) {
        if self.bw_shortterm == INFINITE {
            self.bw_shortterm = max_bw;
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = f64::from(self.inflight_latest).max(BETA * self.inflight_shortterm);
    }
}

/// IsInflightTooHigh: more than 2% of what was in flight is lost.
pub fn is_too_high(lost: u32, in_flight: u32) -> bool {
    f64::from(lost) > LOSS_THRESH * f64::from(in_flight)
}

/// BBR.ack_phase: what acknowledgements tell about the latest probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub struct ProbeBw {
    pub ack_phase: AckPhase,
    /// BBR.is_bw_probe_sample.
    pub is_sample: bool,
    /// BBR.prev_probe_too_high.
    pub prev_too_high: bool,
    /// BBR.prev_probe_precautionary.
    pub prev_precautionary: bool,
    /// BBR.rounds_since_probe_up.
    pub rounds: u32,
    /// BBR.cycle_stamp and bw_probe_wait.
    pub start: Time,
    pub wait: Dur,
    /// BBR.bw_probe_up_rounds, bw_probe_up_acked and probe_up_acked_per_inc.
    pub up_rounds: u32,
    pub up_acked: f64,
    pub acked_per_increment: f64,
}

impl Default for ProbeBw {
    fn default() -> ProbeBw {
        ProbeBw {
            ack_phase: AckPhase::Init,
            is_sample: false,
            prev_too_high: false,
            prev_precautionary: false,
            rounds: 0,
            start: Time::ZERO,
            wait: Dur::ZERO,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_increment: INFINITE,
        }
    }
}

impl ProbeBw {
    /// No probe feeds back any longer.
    pub fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// PickProbeWait.
    pub fn pick_wait(&mut self, rng: Option<&mut Rng>) {
        let (round, share) = rng.map_or((0, 0.5), |rng| (rng.below(2), rng.uniform()));
        self.rounds = round;
        self.wait = Dur::from_secs(2.0 + share);
    }
}

/// What a loss recovery has changed: the undo state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// BBR.undo_state: the state that losses have ended.
    pub state: Option<State>,
    /// BBR.undo_bw_shortterm.
    pub bw_shortterm: f64,
    /// BBR.undo_inflight_shortterm.
    pub inflight_shortterm: f64,
    /// BBR.undo_inflight_longterm.
    pub inflight_longterm: f64,
    /// Recoveries that were undone.
    pub count: u32,
}
