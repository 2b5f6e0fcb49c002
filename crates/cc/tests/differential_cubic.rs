//! A CUBIC sender beside a transcription of RFC 9438, over random sequences of acknowledgements and congestion events.

mod common;
#[path = "pseudocode/rfc_9438.rs"]
mod rfc_9438;

use common::{config_of, Lead};
use marqueue_cc::Ack;
use marqueue_core::{Dur, Rng};
use rfc_9438::{Constants, Cubic, Departure, Event, NewAck};

/// Both sides compute with 53 bits; a sequence has some hundred operations.
const ROUNDING: f64 = 1e-9;
const SEQUENCES: u64 = 10_000;
const EVENTS: u32 = 60;

/// How often each branch was taken, over all sequences.
#[derive(Debug, Default)]
struct Seen {
    acks: u32,
    limited: u32,
    losses: u32,
    echoes: u32,
    old_echoes: u32,
    timeouts: u32,
    lowers_to_w_est: u32,
    begins_above_w_max: u32,
}

struct Pair {
    lead: Lead,
    cubic: Cubic,
    max_window: f64,
    seed: u64,
    /// SND.UNA at the last timeout.
    timed_out: Option<u32>,
    /// The last reduction was a timeout.
    after_timeout: bool,
}

impl Pair {
    fn new(seed: u64, rng: &mut Rng) -> Pair {
        let pick = |rng: &mut Rng, of: &[f64]| of[rng.below(of.len() as u32) as usize];
        let max_window = if rng.uniform() < 0.3 { 4.0 + (rng.uniform() * 60.0).floor() } else { 1e6 };
        let initial_window = 1.0 + (rng.uniform() * 60.0).floor();
        let constants = Constants {
            c: pick(rng, &[0.04, 0.4, 4.0]),
            beta_cubic: pick(rng, &[0.5, 0.7, 0.9]),
            fast_convergence: rng.uniform() < 0.5,
        };
        let config = config_of(
            "rfc",
            &[("control", "cubic"), ("recovery", "newreno"), ("flight_size", "outstanding")],
            &[
                ("delayed_ack", 0.0),
                ("initial_window", initial_window),
                ("max_window", max_window),
                ("cubic_c", constants.c),
                ("cubic_beta", constants.beta_cubic),
            ],
            &[("ecn", true), ("cubic_fast_convergence", constants.fast_convergence)],
        );
        let lead = Lead::open(config, None);
        let cubic = Cubic::new(constants, initial_window.min(max_window), lead.ssthresh());
        Pair { lead, cubic, max_window, seed, timed_out: None, after_timeout: false }
    }

    fn flight(&self) -> u32 {
        self.lead.sender.core().flight()
    }

    /// An acknowledgement of `segments`, the transcription of which is told first.
    fn ack(&mut self, segments: u32, seen: &mut Seen) {
        self.acknowledge(segments, false, seen);
    }

    /// The acknowledgement of `ack`, with an echo that does not count or without.
    fn acknowledge(&mut self, segments: u32, old_echo: bool, seen: &mut Seen) {
        let core = self.lead.sender.core();
        let (next, cwnd) = (core.una + segments, core.window.cwnd);
        let limited = self.flight() < cwnd as u32 || cwnd >= self.max_window;
        seen.acks += 1;
        seen.limited += u32::from(limited);
        if old_echo {
            self.lead.echo(next);
        } else {
            self.lead.ack(next);
        }
        // The estimate includes the round-trip time that this acknowledgement has measured.
        let rtt = self.lead.sender.core().rto.srtt(&self.lead.config);
        let departure = self.cubic.on_new_ack(NewAck {
            t_current: self.lead.now.secs(),
            segments_acked: f64::from(segments),
            rtt,
            application_limited: limited,
        });
        match departure {
            Some(Departure::LowersToWEst) => seen.lowers_to_w_est += 1,
            Some(Departure::BeginsAboveWMax) => seen.begins_above_w_max += 1,
            None => {}
        }
        self.agree("an acknowledgement");
    }

    fn echo(&mut self, segments: u32, seen: &mut Seen) {
        let core = self.lead.sender.core();
        let (next, recover, cwnd) = (core.una + segments, core.recover, core.window.cwnd);
        let flight = f64::from(self.flight());
        if self.after_timeout && next <= recover {
            // The departure of docs/standards/rfc3168.md, section 6.1.2: the echo of a mark from before the timeout.
            seen.old_echoes += 1;
            return self.acknowledge(segments, true, seen);
        }
        self.lead.echo(next);
        if next > recover && cwnd > 1.0 {
            self.after_timeout = false;
            seen.echoes += 1;
            self.cubic.on_congestion(Event::Ece, flight);
        }
        self.agree("an echo");
    }

    fn time_out(&mut self, seen: &mut Seen) {
        let core = self.lead.sender.core();
        if core.una == core.max || core.ecn_wait {
            self.lead.time_out();
            self.cubic.cwnd = 1.0;
            return;
        }
        seen.timeouts += 1;
        self.after_timeout = true;
        let (una, flight) = (core.una, f64::from(self.flight()));
        let repeated = self.timed_out.replace(una) == Some(una);
        self.lead.time_out();
        self.cubic.on_congestion(if repeated { Event::RepeatedTimeout } else { Event::Timeout }, flight);
        self.agree("a timeout");
    }

    /// Three duplicates and the end of recovery, whose window is RFC 6582's.
    fn lose(&mut self, seen: &mut Seen) {
        let core = self.lead.sender.core();
        if self.flight() < 5 || core.una <= core.recover || core.nxt < core.max {
            return;
        }
        seen.losses += 1;
        self.after_timeout = false;
        let (una, flight) = (core.una, f64::from(self.flight()));
        for _ in 0..3 {
            self.lead.hear(Ack { ack: una, ..Ack::default() });
        }
        self.cubic.on_congestion(Event::Loss, flight);
        assert!((self.lead.ssthresh() - self.cubic.ssthresh).abs() <= ROUNDING * self.cubic.ssthresh);
        self.lead.now += Dur::from_secs(0.05);
        let all = self.lead.sender.core().recover;
        self.lead.ack(all);
        self.cubic.cwnd = self.lead.cwnd();
        assert!(self.lead.cwnd() <= self.cubic.ssthresh * (1.0 + ROUNDING));
    }

    #[track_caller]
    fn agree(&self, after: &str) {
        for (what, got, expected) in
            [("cwnd", self.lead.cwnd(), self.cubic.cwnd), ("ssthresh", self.lead.ssthresh(), self.cubic.ssthresh)]
        {
            assert!(
                (got - expected).abs() <= ROUNDING * expected.max(1.0),
                "sequence {}: {what} after {after}: {got}, by the RFC {expected}",
                self.seed
            );
        }
    }
}

#[test]
fn a_sender_has_the_window_of_the_rfc() {
    let mut seen = Seen::default();
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "cubic");
        let mut pair = Pair::new(seed, &mut rng);
        let pace = [0.001, 0.01, 0.1][rng.below(3) as usize];
        for _ in 0..EVENTS {
            pair.lead.now += Dur::from_secs(pace * rng.uniform());
            if pair.lead.now >= pair.lead.sender.deadline() {
                pair.lead.now = pair.lead.sender.deadline();
                pair.time_out(&mut seen);
                continue;
            }
            let flight = pair.flight();
            let segments = (1 + rng.below(3)).min(flight);
            match rng.uniform() {
                _ if flight == 0 => pair.time_out(&mut seen),
                x if x < 0.03 => pair.echo(segments, &mut seen),
                x if x < 0.06 => pair.lose(&mut seen),
                x if x < 0.07 => pair.time_out(&mut seen),
                _ => pair.ack(segments, &mut seen),
            }
        }
    }
    println!("{seen:?}");
    let every_branch = [seen.limited, seen.losses, seen.echoes, seen.old_echoes, seen.timeouts, seen.lowers_to_w_est];
    assert!(every_branch.iter().all(|&n| n > 100), "a branch that is hardly tested: {seen:?}");
}
