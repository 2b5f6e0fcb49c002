//! What laws that listen to routers share: which feedback is new, and whose is obeyed.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, sections 6.1 and 6.3. Feedback is taken in once: only if its number
//! is above all others of its router. When another router speaks, the flow waits for one more round trip before
//! it obeys that router.
//!
//! The paper does not say what happens if routers take turns, as they do where two links are congested
//! alike. A flow that waited anew at each change would never obey any; here whoever speaks first after the
//! wait is obeyed. Each router's last number is kept, so that old feedback is known as such when a router
//! speaks again.

use super::Heard;
use marqueue_core::{Dur, Time};

/// The last that was heard of a router.
#[derive(Clone, Copy, Debug)]
struct Last {
    router: u32,
    seq: u32,
    usr: u32,
}

/// Whom the flow obeys.
#[derive(Clone, Copy, Debug)]
enum Bottleneck {
    /// Nobody has spoken yet.
    Unknown,
    /// This router.
    Is(u32),
    /// Whoever speaks first from then on.
    Changes(Time),
}

/// What a flow knows of routers.
#[derive(Clone, Debug)]
pub struct Listener {
    last: Vec<Last>,
    bottleneck: Bottleneck,
    price: Option<f64>,
}

/// Feedback that is new.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct News {
    /// The price.
    pub p: f64,
    /// The header's `usr`.
    pub usr: u32,
    /// What came before from the same router, if anything did: `usr`, and for how long the router has
    /// measured since, s.
    pub since: Option<(u32, f64)>,
    /// Is it the router that the flow obeys?
    pub obeyed: bool,
}

impl Listener {
    /// Nothing has been heard.
    pub fn new() -> Listener {
        Listener { last: Vec::new(), bottleneck: Bottleneck::Unknown, price: None }
    }

    /// The latest price that was obeyed.
    pub fn price(&self) -> Option<f64> {
        self.price
    }

    /// A header has come back. Nothing if it tells nothing new.
    pub fn hear(&mut self, heard: &Heard) -> Option<News> {
        let said = heard.signals.price;
        let usr = heard.signals.usr;
        if said.seq == 0 {
            return None;
        }
        let now = Last { router: said.router, seq: said.seq, usr };
        let since = match self.last.iter_mut().find(|last| last.router == said.router) {
            Some(last) => {
                // Numbers wrap around.
                let steps = said.seq.wrapping_sub(last.seq) as i32;
                if steps <= 0 {
                    return None;
                }
                let before = std::mem::replace(last, now);
                Some((before.usr, f64::from(steps) * f64::from(said.delta)))
            }
            None => {
                self.last.push(now);
                None
            }
        };
        let obeyed = self.obeys(said.router, heard);
        if obeyed {
            self.price = Some(f64::from(said.p));
        }
        Some(News { p: f64::from(said.p), usr, since, obeyed })
    }

    fn obeys(&mut self, router: u32, heard: &Heard) -> bool {
        self.bottleneck = match self.bottleneck {
            Bottleneck::Is(other) if other != router => Bottleneck::Changes(heard.now + Dur::from_secs(heard.srtt)),
            Bottleneck::Changes(until) if heard.now < until => return false,
            _ => Bottleneck::Is(router),
        };
        matches!(self.bottleneck, Bottleneck::Is(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::{Price, Signals};

    fn heard(ms: u64, router: u32, seq: u32, usr: u32) -> Heard {
        let price = Price { router, seq, p: 0.25, delta: 0.5 };
        Heard { now: Time(ms * 1_000_000), srtt: 0.1, signals: Signals { price, usr } }
    }

    #[test]
    fn each_number_is_taken_in_once_and_in_order() {
        let mut listener = Listener::new();
        let first = listener.hear(&heard(0, 3, 7, 40)).unwrap();
        assert_eq!(first, News { p: 0.25, usr: 40, since: None, obeyed: true });
        assert_eq!(listener.hear(&heard(1, 3, 7, 41)), None);
        assert_eq!(listener.hear(&heard(2, 3, 6, 30)), None);
        // 8 is lost: half a second of each of two intervals.
        let next = listener.hear(&heard(3, 3, 9, 50)).unwrap();
        assert_eq!(next.since, Some((40, 1.0)));
        assert_eq!(listener.hear(&heard(4, 3, 8, 45)), None);
    }

    #[test]
    fn a_header_that_met_no_router_is_no_news() {
        let mut listener = Listener::new();
        let empty = Heard { signals: Signals::of_the_worst(1), ..heard(0, 0, 0, 0) };
        assert_eq!(listener.hear(&empty), None);
    }

    #[test]
    fn another_router_is_obeyed_a_round_trip_after_it_spoke_first() {
        let mut listener = Listener::new();
        let mut obeyed = |ms, router, seq| listener.hear(&heard(ms, router, seq, 0)).map(|news| news.obeyed);
        assert_eq!(obeyed(0, 1, 1), Some(true));
        assert_eq!(obeyed(50, 2, 9), Some(false));
        assert_eq!(obeyed(149, 2, 10), Some(false));
        assert_eq!(obeyed(150, 2, 11), Some(true));
        assert_eq!(obeyed(200, 2, 12), Some(true));
        // Back: what the first router said meanwhile is old only by its own numbers.
        assert_eq!(obeyed(300, 1, 2), Some(false));
        assert_eq!(obeyed(400, 1, 3), Some(true));
        assert_eq!(obeyed(401, 1, 2), None);
    }

    #[test]
    fn routers_that_take_turns_are_obeyed_once_a_round_trip() {
        let mut listener = Listener::new();
        let obeyed =
            (0..100).filter(|i| listener.hear(&heard(20 * i, *i as u32 % 2, *i as u32 / 2 + 1, 0)).unwrap().obeyed);
        // One to begin with; then a wait of 100 ms from the next on, and again.
        assert_eq!(obeyed.count(), 17);
    }
}
