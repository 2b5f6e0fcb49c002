//! Feedback of routers: filters out old feedback and tracks which router is the bottleneck.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, sections 6.1 and 6.3. Feedback is used once: only if its sequence number is
//! above all others of its router. When feedback comes from another router, the flow waits for one round trip before it
//! follows that router.
//!
//! The paper does not say what happens if two routers alternate, as they do where two links are equally congested. A
//! flow that restarted the wait at each change would never follow either. Here the first router after the wait is
//! followed. The last sequence number of each router is kept, so that old feedback is recognised when a router appears
//! again.
//!
//! If routers alternate, the first packet with a new price of a router need not be the first that arrived in its
//! interval, because another price may have been higher. So the amount that a flow sent in an interval is known only if
//! all feedback since the start of the interval came from the same router. After a wait it is not needed: the rate has
//! been constant for a round trip.

use super::rate_law::ReturnedSignals;
use marqueue_core::{Dur, Time};

/// The last feedback of a router.
#[derive(Clone, Copy, Debug)]
struct LastFeedback {
    router: u32,
    seq: u32,
    usr: u32,
    /// True if its packet was the first of its interval.
    edge: bool,
}

/// The router that the flow follows.
#[derive(Clone, Copy, Debug)]
enum Bottleneck {
    /// No feedback yet.
    Unknown,
    /// This router.
    Is(u32),
    /// The first router from that time on.
    Changes(Time),
}

/// What a flow knows about routers.
#[derive(Clone, Debug)]
pub struct RouterFeedback {
    last: Vec<LastFeedback>,
    /// The router of the last feedback.
    speaker: Option<u32>,
    bottleneck: Bottleneck,
    price: Option<f64>,
}

/// Feedback that is new.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewPrice {
    /// The price.
    pub p: f64,
    /// The header's `usr`.
    pub usr: u32,
    /// The previous feedback of the same router, if there was none of another in between: its `usr`, and the time that
    /// the router has measured since, s.
    pub since: Option<(u32, f64)>,
    /// Does the flow follow this router?
    pub bottleneck_status: BottleneckStatus,
}

/// Whether the flow follows a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BottleneckStatus {
    /// Not yet: the bottleneck changed less than a round trip ago.
    Waiting,
    /// From now on: the rate has been constant for a round trip.
    Switched,
    /// As before.
    Unchanged,
}

impl RouterFeedback {
    /// No feedback yet.
    pub fn new() -> RouterFeedback {
        RouterFeedback { last: Vec::new(), speaker: None, bottleneck: Bottleneck::Unknown, price: None }
    }

    /// The latest price that was followed.
    pub fn price(&self) -> Option<f64> {
        self.price
    }

    /// A header has been returned. `None` if its feedback is not new.
    pub fn update(&mut self, returned: &ReturnedSignals) -> Option<NewPrice> {
        let reported_price = returned.signals.price;
        let usr = returned.signals.usr;
        if reported_price.seq == 0 {
            return None;
        }
        let edge = self.speaker.is_none_or(|speaker| speaker == reported_price.router);
        let now = LastFeedback { router: reported_price.router, seq: reported_price.seq, usr, edge };
        let since = match self.last.iter_mut().find(|last| last.router == reported_price.router) {
            Some(last) => {
                // Numbers wrap around.
                let steps = reported_price.seq.wrapping_sub(last.seq) as i32;
                if steps <= 0 {
                    return None;
                }
                let before = std::mem::replace(last, now);
                let seconds = f64::from(steps) * f64::from(reported_price.delta);
                (edge && before.edge).then_some((before.usr, seconds))
            }
            None => {
                self.last.push(now);
                None
            }
        };
        self.speaker = Some(reported_price.router);
        let bottleneck_status = self.bottleneck_status(reported_price.router, returned);
        if bottleneck_status != BottleneckStatus::Waiting {
            self.price = Some(f64::from(reported_price.p));
        }
        Some(NewPrice { p: f64::from(reported_price.p), usr, since, bottleneck_status })
    }

    fn bottleneck_status(&mut self, router: u32, returned: &ReturnedSignals) -> BottleneckStatus {
        let (bottleneck, bottleneck_status) = match self.bottleneck {
            Bottleneck::Is(other) if other != router => {
                (Bottleneck::Changes(returned.now + Dur::from_secs(returned.srtt)), BottleneckStatus::Waiting)
            }
            Bottleneck::Changes(until) if returned.now < until => (self.bottleneck, BottleneckStatus::Waiting),
            Bottleneck::Changes(_) => (Bottleneck::Is(router), BottleneckStatus::Switched),
            Bottleneck::Unknown | Bottleneck::Is(_) => (Bottleneck::Is(router), BottleneckStatus::Unchanged),
        };
        self.bottleneck = bottleneck;
        bottleneck_status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::{Price, Signals};

    fn returned(ms: u64, router: u32, seq: u32, usr: u32) -> ReturnedSignals {
        let price = Price { router, seq, p: 0.25, delta: 0.5 };
        ReturnedSignals { now: Time(ms * 1_000_000), srtt: 0.1, signals: Signals { price, usr } }
    }

    #[test]
    fn each_number_is_taken_in_once_and_in_order() {
        let mut feedback = RouterFeedback::new();
        let first = feedback.update(&returned(0, 3, 7, 40)).unwrap();
        assert_eq!(first, NewPrice { p: 0.25, usr: 40, since: None, bottleneck_status: BottleneckStatus::Unchanged });
        assert_eq!(feedback.update(&returned(1, 3, 7, 41)), None);
        assert_eq!(feedback.update(&returned(2, 3, 6, 30)), None);
        // 8 is lost: half a second of each of two intervals.
        let next = feedback.update(&returned(3, 3, 9, 50)).unwrap();
        assert_eq!(next.since, Some((40, 1.0)));
        assert_eq!(feedback.update(&returned(4, 3, 8, 45)), None);
    }

    #[test]
    fn a_header_that_met_no_router_is_no_news() {
        let mut feedback = RouterFeedback::new();
        let empty = ReturnedSignals { signals: Signals::for_max_price(1), ..returned(0, 0, 0, 0) };
        assert_eq!(feedback.update(&empty), None);
    }

    #[test]
    fn another_router_is_obeyed_a_round_trip_after_it_spoke_first() {
        let mut feedback = RouterFeedback::new();
        let mut obeyed = |ms, router, seq| {
            feedback.update(&returned(ms, router, seq, 0)).map(|new_price| new_price.bottleneck_status)
        };
        assert_eq!(obeyed(0, 1, 1), Some(BottleneckStatus::Unchanged));
        assert_eq!(obeyed(50, 2, 9), Some(BottleneckStatus::Waiting));
        assert_eq!(obeyed(149, 2, 10), Some(BottleneckStatus::Waiting));
        assert_eq!(obeyed(150, 2, 11), Some(BottleneckStatus::Switched));
        assert_eq!(obeyed(200, 2, 12), Some(BottleneckStatus::Unchanged));
        // Back: what the first router said meanwhile is old only by its own numbers.
        assert_eq!(obeyed(300, 1, 2), Some(BottleneckStatus::Waiting));
        assert_eq!(obeyed(400, 1, 3), Some(BottleneckStatus::Switched));
        assert_eq!(obeyed(401, 1, 2), None);
    }

    #[test]
    fn routers_that_take_turns_are_obeyed_once_a_round_trip() {
        let mut feedback = RouterFeedback::new();
        let obeyed = (0..100).filter(|i| {
            feedback.update(&returned(20 * i, *i as u32 % 2, *i as u32 / 2 + 1, 0)).unwrap().bottleneck_status
                != BottleneckStatus::Waiting
        });
        // One to begin with; then a wait of 100 ms from the next on, and again.
        assert_eq!(obeyed.count(), 17);
    }

    #[test]
    fn an_interval_is_known_if_nobody_else_has_spoken_since_it_began() {
        let mut feedback = RouterFeedback::new();
        let mut since = |ms, router, seq, usr| feedback.update(&returned(ms, router, seq, usr)).unwrap().since;
        assert_eq!(since(0, 1, 1, 10), None);
        assert_eq!(since(20, 1, 2, 20), Some((10, 0.5)));
        assert_eq!(since(40, 2, 1, 25), None);
        // Of its interval the first packet may have told what the other router said; so of the next one the
        // beginning is known, and its end only then.
        assert_eq!(since(60, 1, 3, 30), None);
        assert_eq!(since(80, 1, 4, 40), None);
        assert_eq!(since(100, 1, 5, 50), Some((40, 0.5)));
    }
}
