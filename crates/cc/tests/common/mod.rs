//! Settings and a sender on a lead, for tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod bare_window;

use marqueue_cc::Config;
use marqueue_cc::{Ack, Segment, Sender};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Time};

/// A preset with a way to repair losses, and settings that differ from it.
pub fn config(preset: &str, recovery: &str, numbers: &[(&str, f64)], flags: &[(&str, bool)]) -> Config {
    config_of(preset, &[("recovery", recovery)], numbers, flags)
}

/// The settings of a preset, and those that differ from it.
pub fn config_of(preset: &str, choices: &[(&str, &str)], numbers: &[(&str, f64)], flags: &[(&str, bool)]) -> Config {
    let mut values: ParamValues = choices.iter().map(|&(k, x)| (k.into(), Value::Choice(x.into()))).collect();
    values.extend(numbers.iter().map(|&(k, x)| (k.into(), Value::Number(x))));
    values.extend(flags.iter().map(|&(k, x)| (k.into(), Value::Flag(x))));
    Config::with_preset(preset, &values).expect("the settings are valid")
}

/// The RFCs' rules with an initial window of `n` segments, every segment acknowledged at once.
pub fn rfc(recovery: &str, n: u32) -> Config {
    config("rfc", recovery, &[("initial_window", f64::from(n)), ("delayed_ack", 0.0)], &[])
}

/// The RFCs' rules with an initial window of `window` segments, every segment acknowledged at once, and settings that
/// differ from them.
pub fn rfc_with(choices: &[(&str, &str)], window: u32, flags: &[(&str, bool)]) -> Config {
    config_of("rfc", choices, &[("initial_window", f64::from(window)), ("delayed_ack", 0.0)], flags)
}

/// All ways to repair losses: preset and recovery.
pub const WAYS: [(&str, &str); 7] = [
    ("rfc", "reno"),
    ("rfc", "newreno"),
    ("rfc", "sack"),
    ("linux", "sack"),
    ("ns2", "reno"),
    ("ns2", "newreno"),
    ("ns2", "sack"),
];

/// A way to repair losses that this window law can be combined with: `way`, or one near it.
pub fn way_of(way: usize, control: &str) -> (&'static str, &'static str) {
    match control {
        "prague" if way >= 4 => WAYS[way - 4],
        "bbr1" | "bbr3" => ("linux", "sack"),
        _ => WAYS[way],
    }
}

/// The window laws that ECE speaks to, and that start slowly: all but Prague, LEDBAT, LEDBAT++ and the models of the path.
pub fn echo_laws() -> impl Iterator<Item = &'static str> {
    marqueue_cc::law_list::Law::NAMES
        .iter()
        .copied()
        .filter(|law| !["prague", "ledbat", "ledbat++", "bbr1", "bbr3"].contains(law))
}

/// Does the window law need ECN?
pub fn needs_ecn(control: &str) -> bool {
    ["dctcp", "prague"].contains(&control)
}

pub fn at(seconds: f64) -> Time {
    Time::ZERO + Dur::from_secs(seconds)
}

/// A sender whose acknowledgements a test writes by hand. Every call returns the numbers of the
/// segments that it sends.
pub struct Lead {
    pub config: Config,
    pub sender: Sender,
    pub now: Time,
    pub sent: Vec<Segment>,
}

impl Lead {
    /// A sender that has sent its SYN at time 0.
    pub fn new(config: Config, size: Option<u32>) -> Lead {
        let sender = Sender::new(&config, size, 0.0);
        let mut lead = Lead { config, sender, now: Time::ZERO, sent: Vec::new() };
        lead.sender.start(&lead.config, lead.now, &mut lead.sent);
        lead
    }

    /// The same with the handshake done, 100 ms later.
    pub fn open(config: Config, size: Option<u32>) -> Lead {
        let mut lead = Lead::new(config, size);
        lead.now = at(0.1);
        let ece = lead.config.ecn;
        lead.hear(Ack { ack: 1, ece, ..Ack::default() });
        lead
    }

    /// The same, but the application has written nothing yet.
    pub fn unwritten(config: Config, size: Option<u32>) -> Lead {
        let mut lead = Lead::new(config, size);
        lead.sender = Sender::new(&lead.config, size, 0.0);
        lead.sender.write_in_pieces();
        lead.sent.clear();
        lead.sender.start(&lead.config, Time::ZERO, &mut lead.sent);
        lead.now = at(0.1);
        let ece = lead.config.ecn;
        lead.hear(Ack { ack: 1, ece, ..Ack::default() });
        lead
    }

    /// The application writes `n` segments.
    pub fn write(&mut self, n: u32) -> Vec<u32> {
        self.sent.clear();
        self.sender.write(&self.config, self.now, n, &mut self.sent);
        self.numbers()
    }

    pub fn hear(&mut self, ack: Ack<'_>) -> Vec<u32> {
        self.sent.clear();
        self.sender.on_ack(&self.config, self.now, &ack, &mut self.sent);
        self.numbers()
    }

    /// A cumulative acknowledgement: `next` is the segment expected next.
    pub fn ack(&mut self, next: u32) -> Vec<u32> {
        self.hear(Ack { ack: next, ..Ack::default() })
    }

    /// With ECN echo.
    pub fn echo(&mut self, next: u32) -> Vec<u32> {
        self.hear(Ack { ack: next, ece: true, ..Ack::default() })
    }

    /// With SACK blocks.
    pub fn sack(&mut self, next: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        self.hear(Ack { ack: next, sack: blocks, ..Ack::default() })
    }

    /// Waits until its timer expires.
    pub fn time_out(&mut self) -> Vec<u32> {
        self.now = self.sender.deadline();
        assert_ne!(self.now, Time::NEVER, "no timer is running");
        self.sent.clear();
        self.sender.on_timer(&self.config, self.now, &mut self.sent);
        self.numbers()
    }

    fn numbers(&self) -> Vec<u32> {
        self.sent.iter().map(|s| s.seq).collect()
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.core().window.cwnd
    }

    pub fn ssthresh(&self) -> f64 {
        self.sender.core().window.ssthresh
    }

    /// How long the timer is set to.
    pub fn timeout(&self) -> f64 {
        (self.sender.deadline() - self.now).secs()
    }
}
