//! A token-bucket policer: packets beyond a rate and a burst are dropped, and none waits for it.
//!
//! RFC 2697, section 3, with one bucket (CIR, CBS) and its colour red dropped; Flach et al., "An Internet-Wide Analysis of
//! Traffic Policing", ACM SIGCOMM 2016, section 2, for what it does to TCP; Linux, act_police.
//!
//! The bucket holds at most `burst` bytes and gains rate/8 bytes a second. A packet of s bytes passes if the bucket has s, and
//! takes them:
//!     tokens = min(burst, tokens + rate/8 (t - t_last)),  drop if s > tokens
//!
//! Input: arrivals and their sizes. Output: drops, never marks, as policers do.
//! Departures: none. Tokens are real numbers, where RFC 2697 adds one byte 1/CIR apart.
//! Defaults: the link's rate, and what it sends in 100 ms. RFC 2697 leaves both to the operator.

use alloc::{string::String, vec::Vec};
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Rng, Time};

/// Seconds of the rate in a burst, if that is not given.
const BURST: f64 = 0.1;

marqueue_core::params! {
    /// Parameters of a policer.
    pub struct Params {
        /// CIR: the rate of tokens.
        rate: Option<f64> { unit: BitsPerSecond, range: 1.0 => 1e13, default: None, auto: "that of the link", source: "RFC 2697, section 2" },
        /// CBS: what the bucket holds. Packets that are larger never pass.
        burst: Option<f64> { unit: Bytes, range: 1.0 => 1e12, default: None, auto: "what the rate sends in 100 ms", source: "RFC 2697, section 2" },
    }
}

/// State of a policer.
#[derive(Debug)]
pub struct Policer {
    rate: Option<f64>,
    burst: Option<f64>,
    /// Bytes in the bucket at `at`; `None` before the first packet, when it is full.
    tokens: Option<f64>,
    at: Time,
}

impl Policer {
    /// CIR in bytes a second, and CBS.
    fn limits(&self, env: &Env) -> (f64, f64) {
        let rate = self.rate.map_or(env.rate.bytes_per_sec(), |rate| rate / 8.0);
        (rate, self.burst.unwrap_or(rate * BURST))
    }

    fn tokens(&self, env: &Env, now: Time) -> f64 {
        let (rate, burst) = self.limits(env);
        self.tokens.map_or(burst, |tokens| (tokens + rate * (now - self.at).secs()).min(burst))
    }
}

impl Aqm for Policer {
    const NAME: &'static str = "policer";
    const SUMMARY: &'static str = "Token bucket: drops what exceeds a rate and a burst";
    const SOURCE: &'static str = "RFC 2697; Flach et al., ACM SIGCOMM 2016";
    const PROBES: &'static [(&'static str, &'static str)] = &[("tokens", "bytes")];
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Policer { rate: p.rate, burst: p.burst, tokens: None, at: now })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let (tokens, size) = (self.tokens(cx.env, cx.now), f64::from(packet.bytes()));
        let passes = size <= tokens;
        self.tokens = Some(if passes { tokens - size } else { tokens });
        self.at = cx.now;
        if passes {
            Verdict::Pass
        } else {
            Verdict::Drop(Reason::Forced)
        }
    }

    fn warning(&self, env: &Env) -> Option<String> {
        let (_, burst) = self.limits(env);
        let packet = env.mean_packet.0 as f64;
        (burst < packet).then(|| format!("burst: got {burst} bytes, expected at least a packet of {packet} bytes"))
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        out.push(self.tokens(env, now));
    }
}
