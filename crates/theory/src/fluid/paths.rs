//! The paths between sources and links: every delay of a fluid model, stored once, and where each one is used.

use super::delay::Delay;
use super::description::{Class, Description};

/// An index into [`Paths::delays`]; `None` for no delay.
pub(super) type DelayIndex = Option<usize>;

/// The packets of a class that arrive at a link.
#[derive(Debug)]
pub(super) struct Crossing {
    pub class: usize,
    /// The size of one of its packets in packets of the link.
    pub size: f64,
    /// The delay since they were sent.
    pub sent: DelayIndex,
}

/// The feedback from a link to a class.
#[derive(Debug)]
pub(super) struct FeedbackPath {
    pub link: usize,
    pub density: f64,
    /// The delay since the packets that are acknowledged now arrived at the link.
    pub at_link: DelayIndex,
    /// For each crossing of the link: the delay since the packets were sent that arrived there with them.
    pub sent: Vec<DelayIndex>,
}

/// All paths of a network.
#[derive(Debug)]
pub(super) struct Paths {
    pub delays: Vec<Delay>,
    /// For each class its round trip.
    pub round_trips: Vec<DelayIndex>,
    /// For each link the classes that cross it.
    pub crossings: Vec<Vec<Crossing>>,
    /// For each class and hop the feedback.
    pub feedback: Vec<Vec<FeedbackPath>>,
}

impl Paths {
    pub fn new(description: &Description) -> Paths {
        let classes = &description.classes;
        let mut delays = Vec::new();
        let round_trips = classes
            .iter()
            .map(|class| index_of(&mut delays, path_delay(class, 0, class.route.len(), class.rtt)))
            .collect();
        let mut crossings = Vec::new();
        for l in 0..description.links.len() {
            let hops = (classes.iter().enumerate())
                .flat_map(|(i, class)| (0..class.route.len()).map(move |k| (i, k)))
                .filter(|&(i, k)| classes[i].route[k].link == l);
            let at_link = hops.map(|(i, k)| Crossing {
                class: i,
                size: classes[i].route[k].size,
                sent: index_of(&mut delays, forward_delay(&classes[i], k)),
            });
            crossings.push(at_link.collect());
        }
        let feedback = classes.iter().map(|class| feedback_paths(class, classes, &mut delays)).collect();
        Paths { delays, round_trips, crossings, feedback }
    }
}

/// The feedback to `class` from each hop of its route.
fn feedback_paths(class: &Class, classes: &[Class], delays: &mut Vec<Delay>) -> Vec<FeedbackPath> {
    let mut paths = Vec::new();
    for (k, hop) in class.route.iter().enumerate() {
        let back = path_delay(class, k, class.route.len(), class.rtt - hop.before);
        let arrivals = (classes.iter())
            .flat_map(|c| (0..c.route.len()).filter(|&m| c.route[m].link == hop.link).map(|m| forward_delay(c, m)));
        let sent = arrivals.map(|delay| index_of(delays, back.then(&delay))).collect();
        paths.push(FeedbackPath { link: hop.link, density: hop.density, at_link: index_of(delays, back), sent });
    }
    paths
}

/// The index of `delay`, which is added if it is new.
fn index_of(delays: &mut Vec<Delay>, delay: Delay) -> DelayIndex {
    if delay.is_zero() {
        return None;
    }
    let known = delays.iter().position(|d| *d == delay);
    Some(known.unwrap_or_else(|| {
        delays.push(delay);
        delays.len() - 1
    }))
}

/// The delay from hop `k` of a route to hop `end`: `constant` seconds, and queueing if the law includes it.
fn path_delay(class: &Class, k: usize, end: usize, constant: f64) -> Delay {
    let mut queues: Vec<usize> = match class.law.includes_queueing() {
        true => class.route[k..end].iter().map(|hop| hop.link).collect(),
        false => Vec::new(),
    };
    queues.sort_unstable();
    Delay { constant, queues }
}

/// The delay from the source to hop `k`.
fn forward_delay(class: &Class, k: usize) -> Delay {
    path_delay(class, 0, k, class.route[k].before)
}
