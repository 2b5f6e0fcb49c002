//! CHOKeW in integer arithmetic: the reference for the BPF program `c/chokew.bpf.c`, a queue discipline.
//!
//! Wen, Fang and Sun, "Differentiated Bandwidth Allocation with TCP Protection in Core Routers", IEEE TPDS 20(1), 2009,
//! figures 1 and 2, in packets. The queue is a ring of places. A packet that is dropped out of the middle leaves a hole
//! until all before it have left; a place that turns out to be a hole is drawn again.
//!
//! Departures from `marqueue_aqm`: an arrival is compared with at most 64 packets, for which at most 256 places are
//! looked at; p0 has an upper bound of 2048; weights are rounded to 2^-20, p+ and p- to 2^-32. A flow is the kernel's hash
//! of addresses and ports, of 32 bits.

use crate::cgroup::{self, CgroupWeight};
use crate::fixed_point::{mixed, ONE, SECOND};
use crate::hook::Hook;
use crate::law::{simulated, Parameters, Place, Shaper, Variables};
use crate::weights;
use marqueue_aqm::algo::chokew;
use marqueue_aqm::CountingUnit;
use marqueue_core::params::PolicySpec;

/// Places of the ring.
pub const SLOTS: usize = 8192;

/// The largest buffer, packets: half of the places, so that holes have room.
pub const LARGEST_BUFFER: u64 = SLOTS as u64 / 2;

/// The most packets that an arrival is compared with.
const MOST_DRAWS: u64 = 64;
/// The most places that are looked at for an arrival.
const MOST_PLACES: u32 = 256;
/// p0 does not grow beyond this.
const MOST_P0: u64 = 1 << 43;
/// What a timer missed that was later than this is lost, ns.
const MOST_CREDIT: u64 = 10_000_000;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChokeWParams {
    /// Rate of the link, bytes/s.
    pub rate: u64,
    /// The buffer, packets.
    pub limit: u64,
    /// Packets with the arrival up to which none is drawn.
    pub l_th: u64,
    /// Packets with the arrival below which p0 falls.
    pub l_minus: u64,
    /// Packets with the arrival above which p0 rises.
    pub l_plus: u64,
    /// p+, 2^-32.
    pub p_plus: u64,
    /// p-, 2^-32.
    pub p_minus: u64,
    /// The weight of each of the 64 code points, 2^-20.
    pub weights: Vec<u64>,
    /// Weights of sockets by their cgroup, which take the place of those.
    pub cgroups: Vec<CgroupWeight>,
}

impl ChokeWParams {
    /// The parameters of the simulator's CHOKeW at a link of `rate` bit/s with a buffer of `limit` packets.
    ///
    /// # Errors
    /// If the thresholds are not in order, they count bytes, or rate or buffer is out of range.
    pub fn new(params: &chokew::Params, rate: u64, limit: u64) -> Result<ChokeWParams, String> {
        params.check_order().map_err(|error| error.to_string())?;
        if params.mode != CountingUnit::Packets {
            return Err("mode: got bytes, expected packets: the kernel draws packets".into());
        }
        if rate < 8 {
            return Err(format!("rate: got {rate} bit/s, expected at least 8 bit/s"));
        }
        if !(1..=LARGEST_BUFFER).contains(&limit) {
            return Err(format!("buffer: got {limit} packets, expected 1 to {LARGEST_BUFFER}"));
        }
        let share = |value: f64| (value * ONE as f64).round() as u64;
        Ok(ChokeWParams {
            rate: rate / 8,
            limit,
            // L is whole, so these are the same comparisons.
            l_th: params.l_th.floor() as u64,
            l_minus: params.l_minus.ceil() as u64,
            l_plus: params.l_plus.floor() as u64,
            p_plus: share(params.p_plus),
            p_minus: share(params.p_minus),
            weights: weights::rounded(&params.weights),
            cgroups: Vec::new(),
        })
    }

    /// The weight of a packet, 2^-20: that of the lowest cgroup of its socket which has one, else that of its code point.
    fn weight(&self, packet: QueuedPacket<'_>) -> u64 {
        let own = |id: &u64| self.cgroups.iter().find(|each| each.id == *id).map(|each| each.weight);
        packet.cgroups.iter().find_map(own).unwrap_or(self.weights[usize::from(packet.dscp)])
    }
}

impl Parameters for ChokeWParams {
    const PLACE: Place = Place::Root;

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<ChokeWParams, String> {
        ChokeWParams::new(&simulated::<chokew::Params>(spec)?, shaper.known_rate()?, shaper.buffer / shaper.packet)
    }

    fn rate(&self) -> Option<f64> {
        Some(8.0 * self.rate as f64)
    }

    /// Of the weights by code point those that are not 1.
    fn values(&self) -> Vec<(String, f64)> {
        let share = |value: u64| value as f64 / ONE as f64;
        let values = [
            ("buffer", self.limit as f64),
            ("l_th", self.l_th as f64),
            ("l_minus", self.l_minus as f64),
            ("l_plus", self.l_plus as f64),
            ("p_plus", share(self.p_plus)),
            ("p_minus", share(self.p_minus)),
        ];
        let values = values.into_iter().map(|(name, value)| (name.into(), value));
        values.chain(weights::values(&self.weights)).chain(cgroup::values(&self.cgroups)).collect()
    }

    fn words(&self) -> Vec<u64> {
        let ChokeWParams { rate, limit, l_th, l_minus, l_plus, p_plus, p_minus, weights, cgroups } = self;
        let cgroups = cgroup::words(cgroups);
        [&[*rate, *limit, *l_th, *l_minus, *l_plus, *p_plus, *p_minus], weights.as_slice(), cgroups.as_slice()].concat()
    }

    fn from_words(words: &[u64]) -> Option<ChokeWParams> {
        let &[rate, limit, l_th, l_minus, l_plus, p_plus, p_minus, ref rest @ ..] = words else { return None };
        let (weights, cgroups) = rest.split_at_checked(weights::CODE_POINTS)?;
        let (weights, cgroups) = (weights::from_words(weights)?, cgroup::from_words(cgroups)?);
        Some(ChokeWParams { rate, limit, l_th, l_minus, l_plus, p_plus, p_minus, weights, cgroups })
    }

    fn cgroups(&self) -> Option<&[CgroupWeight]> {
        Some(&self.cgroups)
    }

    fn set_cgroups(&mut self, weights: Vec<CgroupWeight>) {
        self.cgroups = weights;
    }
}

/// The state of CHOKeW, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChokeW {
    /// The drawing factor, 2^-32.
    pub p0: u64,
    /// Number of the first place.
    pub head: u64,
    /// Number of the place behind the last one.
    pub tail: u64,
    /// Packets in the queue.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the link has sent all that left the queue, ns.
    pub free: u64,
    /// Packets that were dropped because they matched: two for each match.
    pub matched: u64,
    /// Packets that found the buffer full.
    pub overflow: u64,
}

impl Variables for ChokeW {
    type Law = ChokeWParams;

    fn from_words(_: bool, words: &[u64]) -> Option<ChokeW> {
        let &[p0, head, tail, packets, bytes, free, matched, overflow] = words else { return None };
        Some(ChokeW { p0, head, tail, packets, bytes, free, matched, overflow })
    }

    /// p0, the queue in bytes, packets dropped because they matched, and because the buffer was full.
    fn values(&self, _: &ChokeWParams) -> Vec<(&'static str, f64)> {
        vec![
            ("p0", self.p0 as f64 / ONE as f64),
            ("queue", self.bytes as f64),
            ("matched", self.matched as f64),
            ("overflow", self.overflow as f64),
        ]
    }
}

/// A packet as it arrives at the queue.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket<'a> {
    /// Its flow.
    pub flow: u32,
    /// Its size with the header of Ethernet.
    pub bytes: u32,
    /// Its code point.
    pub dscp: u8,
    /// The cgroup of its socket and those above it, upwards. One that is forwarded has none.
    pub cgroups: &'a [u64],
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits, at this place.
    Queued(u32),
    /// The buffer is full.
    Overflow,
    /// It is dropped together with the packet at this place.
    Matched(u32),
}

/// The queue: its state and its places, each a flow and bytes, of which there are none in a hole.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The state.
    pub state: ChokeW,
    slots: Vec<(u32, u32)>,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { state: ChokeW::default(), slots: vec![(0, 0); SLOTS] }
    }
}

impl Queue {
    /// A packet arrives at `now`, ns; `random` is uniform.
    pub fn arrive(&mut self, law: &ChokeWParams, packet: QueuedPacket<'_>, now: u64, random: u32) -> Outcome {
        let l = self.state.packets + 1;
        self.adapt(law, l);
        let draws = if self.state.packets == 0 { 0 } else { self.draws(law, packet, l, random) };
        if let Some(number) = self.draw_match(packet.flow, draws, random) {
            self.state.matched += 2;
            self.leave(number);
            return Outcome::Matched(place(number) as u32);
        }
        let state = &mut self.state;
        if state.packets >= law.limit || state.tail - state.head >= SLOTS as u64 {
            state.overflow += 1;
            return Outcome::Overflow;
        }
        let number = state.tail;
        self.slots[place(number)] = (packet.flow, packet.bytes);
        if state.packets == 0 {
            state.free = state.free.max(now);
        }
        state.tail += 1;
        state.packets += 1;
        state.bytes += u64::from(packet.bytes);
        Outcome::Queued(place(number) as u32)
    }

    /// The link begins to send a packet at `now`, ns: the place that it had.
    pub fn depart(&mut self, law: &ChokeWParams, now: u64) -> u32 {
        let number = self.state.head;
        let (_, bytes) = self.slots[place(number)];
        let from = self.state.free.max(now.saturating_sub(MOST_CREDIT));
        self.state.free = from + u64::from(bytes) * SECOND / law.rate;
        self.leave(number);
        place(number) as u32
    }

    /// Figure 2.
    fn adapt(&mut self, law: &ChokeWParams, l: u64) {
        if l < law.l_minus {
            self.state.p0 = self.state.p0.saturating_sub(law.p_minus);
        } else if l > law.l_plus && self.state.p0 < MOST_P0 {
            self.state.p0 += law.p_plus;
        }
    }

    /// Figure 1, steps 3 and 4: how many packets the arrival is compared with.
    fn draws(&self, law: &ChokeWParams, packet: QueuedPacket<'_>, l: u64, random: u32) -> u64 {
        if l <= law.l_th {
            return 0;
        }
        let p = (self.state.p0 << 20) / law.weight(packet);
        (p / ONE + u64::from(u64::from(random) < p % ONE)).min(MOST_DRAWS)
    }

    /// Figure 1, step 5: the number of the first place drawn with a packet of the flow.
    fn draw_match(&self, flow: u32, draws: u64, random: u32) -> Option<u64> {
        let ChokeW { head, tail, .. } = self.state;
        let drawn = (1..=MOST_PLACES).map(|each| head + ((u64::from(mixed(random, each)) * (tail - head)) >> 32));
        let packets = drawn.filter(|number| self.slots[place(*number)].1 > 0);
        packets.take(draws as usize).find(|number| self.slots[place(*number)].0 == flow)
    }

    fn leave(&mut self, number: u64) {
        let (_, bytes) = &mut self.slots[place(number)];
        let state = &mut self.state;
        state.packets -= 1;
        state.bytes -= u64::from(*bytes);
        *bytes = 0;
        if number == state.head {
            let holes = (number..state.tail).take_while(|each| self.slots[place(*each)].1 == 0);
            state.head += holes.count() as u64;
        }
    }
}

fn place(number: u64) -> usize {
    number as usize % SLOTS
}
