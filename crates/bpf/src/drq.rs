//! DRQ's marking in integer arithmetic: the reference for the BPF program `c/drq.bpf.c`.
//!
//! Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", section III-B, figure 3: phi from
//! RED's average of the queue in bytes, delta = u^2, epsilon = sqrt(2) u (22)-(23). At a link u is phi, divided by the
//! weight of the packet's code point. The field of a packet is the ECN field: 00 (initial), 10 (signalled), 11 (congested).
//!
//! Departures from `marqueue_aqm`: those of [`crate::red`] about idle times; a segmented packet has the chances of its
//! segments together; u is at most 1. Packets that could not be marked cannot be told from those in their initial
//! state, so none is dropped. A CPU has no queue that tc sees.

use crate::arrival::Arrival;
use crate::fixed_point::{mixed, scaled, units, ONE};
use crate::hook::Hook;
use crate::law::{simulated, Fixed, Parameters, Place, Shaper, Variables, IN_BYTES};
use crate::red::{Red, RedParams};
use crate::weights;
use marqueue_aqm::algo::{drq, red};
use marqueue_core::params::PolicySpec;

/// sqrt(2), 2^-32.
const ROOT_OF_TWO: u64 = 6_074_001_000;
/// A rate with which no other parameter of DRQ is out of range, bit/s.
const ANY_RATE: u64 = 1_000_000;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrqParams {
    /// Those of the average and of phi; the rate is 0 at the edge of a network.
    pub red: RedParams,
    /// 1 with signals from one resource to the next, else 0.
    pub inter: u64,
    /// The weight of each of the 64 code points, 2^-20.
    pub weights: Vec<u64>,
}

impl DrqParams {
    /// The parameters of the simulator's DRQ at a link of `rate` bit/s with packets of `size` bytes.
    ///
    /// # Errors
    /// Those of [`RedParams::new`].
    pub fn new(params: &drq::Params, rate: u64, size: u64) -> Result<DrqParams, String> {
        let red = red::Params {
            min_th: Some(params.min_th),
            max_th: Some(params.max_th),
            max_p: params.max_p,
            w_q: Some(params.w_q),
            gentle: true,
            wait: false,
            mark_p: 1.0,
            mode: params.mode,
        };
        let weights = weights::rounded(&params.weights);
        Ok(DrqParams { red: RedParams::new(&red, rate, size)?, inter: params.inter_resource.into(), weights })
    }

    /// The parameters at the edge of a network, where nothing goes by them: those of a link without its rate.
    ///
    /// # Errors
    /// Those of [`RedParams::new`] about the others.
    pub fn edge(params: &drq::Params, size: u64) -> Result<DrqParams, String> {
        let link = DrqParams::new(params, ANY_RATE, size)?;
        Ok(DrqParams { red: RedParams { rate: 0, ..link.red }, ..link })
    }
}

/// What becomes of the field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It stays as it is.
    Stays,
    /// It becomes 10.
    Signalled,
    /// It becomes 11.
    Congested,
}

impl Parameters for DrqParams {
    const PLACE: Place = Place::EgressAndEdge;
    const FIXED: &'static [Fixed] = &[IN_BYTES];

    fn read(spec: &PolicySpec, shaper: Shaper, hook: Hook) -> Result<DrqParams, String> {
        let params = simulated::<drq::Params>(spec)?;
        match hook {
            Hook::Egress => DrqParams::new(&params, shaper.known_rate()?, shaper.packet),
            Hook::Ingress => DrqParams::edge(&params, shaper.packet),
        }
    }

    /// There is none at the edge.
    fn rate(&self) -> Option<f64> {
        (self.red.rate > 0).then_some(8.0 * self.red.rate as f64)
    }

    /// Of the weights those that are not 1.
    fn values(&self) -> Vec<(String, f64)> {
        let shared = ["min_th", "max_th", "max_p", "w_q"];
        let red = self.red.values().into_iter().filter(|(name, _)| shared.contains(&name.as_str()));
        let inter = [("inter_resource".into(), self.inter as f64)];
        red.chain(inter).chain(weights::values(&self.weights)).collect()
    }

    fn words(&self) -> Vec<u64> {
        let RedParams { min_th, max_th, slope, steep, max_p, w_q, rate, size, .. } = self.red;
        [&[min_th, max_th, slope, steep, max_p, w_q, rate, size, self.inter], self.weights.as_slice()].concat()
    }

    fn from_words(words: &[u64]) -> Option<DrqParams> {
        let &[min_th, max_th, slope, steep, max_p, w_q, rate, size, inter, ref weights @ ..] = words else {
            return None;
        };
        let (hard_limit, mark_p, wait) = (2 * max_th, ONE, 0);
        let red = RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait };
        Some(DrqParams { red, inter, weights: weights::from_words(weights)? })
    }
}

/// The state of DRQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drq {
    /// True once a packet has arrived.
    pub started: bool,
    /// The average, the time of the last packet and what it left behind.
    pub red: Red,
    /// Packets whose field became 10.
    pub signalled: u64,
}

impl Drq {
    /// A packet arrives whose ECN field is `field`; `None` without IP.
    pub fn arrival(&mut self, law: &DrqParams, packet: Arrival, field: Option<u8>, dscp: u8) -> Step {
        if packet.queue == 0 {
            self.red.idle(&law.red, packet.now);
        }
        self.red.average(&law.red, packet.queue);
        let step = chance(law, self.red.probability(&law.red), packet, field, dscp);
        if step == Step::Signalled {
            self.signalled += packet.segments;
        }
        self.started = true;
        self.red.last = self.red.last.max(packet.now);
        self.red.behind = packet.queue + packet.bytes;
        step
    }
}

impl Variables for Drq {
    type Law = DrqParams;

    fn from_words(started: bool, words: &[u64]) -> Option<Drq> {
        let &[avg, last, behind, signalled] = words else { return None };
        Some(Drq { started, red: Red { avg, last, behind, ..Red::default() }, signalled })
    }

    /// The average in bytes, phi, packets signalled.
    fn values(&self, law: &DrqParams) -> Vec<(&'static str, f64)> {
        let phi = self.red.probability(&law.red) as f64 / ONE as f64;
        vec![("avg", units(self.red.avg)), ("phi", phi), ("signalled", self.signalled as f64)]
    }
}

/// (22), (23) and figure 3.
fn chance(law: &DrqParams, phi: u64, packet: Arrival, field: Option<u8>, dscp: u8) -> Step {
    let u = ((phi << 20) / law.weights[usize::from(dscp)]).min(ONE);
    let below = |random: u32, p: u64| u64::from(random) < (p * packet.segments).min(ONE);
    match field {
        None | Some(3) => Step::Stays,
        Some(_) if below(packet.random, scaled(u, u)) => Step::Congested,
        Some(field) if law.inter == 1 && below(mixed(packet.random, 1), scaled(u, ROOT_OF_TWO)) => {
            if field == 0 {
                Step::Signalled
            } else {
                Step::Congested
            }
        }
        Some(_) => Step::Stays,
    }
}
