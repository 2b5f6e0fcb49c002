//! The equations of the fluid model.

use super::aqm::{Aqm, AqmFeedback, QueueView};
use super::delay::Delay;
use super::description::{Class, Description, Signal};
use super::invalid::Invalid;
use super::law::SourceFeedback;
use super::parameter_intervals::{parameter_intervals, ParameterInterval};
use super::scalar::Scalar;
use super::solver::{resting, System};
use super::state::{Mode, State, View};

/// The fluid model of a network.
///
/// States are, in order: the window or rate of a flow of each class; then for each link its queue, followed by
/// the states of its AQM. With n_i flows of class i at rates x_i, whose packets are at link l some time f_il after
/// their source sent them and are heard of b_il later (f_il + b_il = R_i, the round trip):
///
/// - lambda_l(t) = sum of n_i(t - f_il) x_i(t - f_il) over the classes that cross link l;
/// - q_l' = lambda_l - C_l, with `drop` (1 - p_l) lambda_l - C_l, between 0 and the buffer;
/// - the AQM's states and what it tells, of the queue and lambda_l (`aqm`);
/// - a full queue loses the part (a - C_l) / a of what the AQM admits, a = lambda_l or (1 - p_l) lambda_l;
/// - a source hears of link l what that told at t - b_il. It takes its packets to be marked or lost with
///   1 - (1 - u^2 / (1 + u^2)) product of (1 - p_l)(1 - loss_l), u the sum of densities times phi_l of DRQ, (15) of
///   Shin, Chong and Rhee; and prices as they are; its law does the rest (`law`).
///
/// Assumptions: flows of a class are like each other and many; windows are real numbers; a queue passes flows on
/// as they came, so that one upstream does not smooth them; no timeouts, no slow start; ways back are without
/// queues. f_il counts the queues before link l as they are now, which changes nothing at equilibrium, nor in the
/// linear model around it.
#[derive(Debug)]
pub struct Model {
    /// The description of the model.
    pub description: Description,
    states: Vec<State>,
    /// Where each link's queue is among the states.
    queues: Vec<usize>,
    delays: Vec<Delay>,
    changes: Vec<f64>,
    intervals: Vec<ParameterInterval>,
    /// For each class its round trip.
    round_trips: Vec<Look>,
    /// For each link the classes that cross it.
    crossings: Vec<Vec<Crossing>>,
    /// For each class and hop the feedback path.
    echoes: Vec<Vec<Echo>>,
}

/// An index into the delays; none for the present.
type Look = Option<usize>;

/// A class at a link.
#[derive(Debug)]
struct Crossing {
    class: usize,
    size: f64,
    sent: Look,
}

/// The feedback path from a link to a class.
#[derive(Debug)]
struct Echo {
    link: usize,
    density: f64,
    /// When its packets were there.
    then: Look,
    /// When what arrived with them had been sent, by crossing.
    sent: Vec<Look>,
}

impl Model {
    /// # Errors
    /// With the first value of the description that makes no sense.
    pub fn new(description: Description) -> Result<Model, Invalid> {
        description.check()?;
        for (c, class) in description.classes.iter().enumerate() {
            class.law.check().map_err(|e| Invalid { path: format!("classes.{c}.law.{}", e.path), ..e })?;
        }
        let mut states: Vec<State> = description.classes.iter().map(|c| c.law.state(&c.name)).collect();
        let mut queues = Vec::new();
        for link in &description.links {
            queues.push(states.len());
            let buffer = link.buffer.unwrap_or(f64::INFINITY);
            states.push(State::free(format!("queue {}", link.name), "packets", 1.0).within(0.0, buffer));
            states.extend(
                (link.aqm.states(&link.parameters()).into_iter())
                    .map(|state| State { name: format!("{} {}", state.name, link.name), ..state }),
            );
        }
        let (changes, intervals) = parameter_intervals(&description);
        let mut model = Model {
            description,
            states,
            queues,
            delays: Vec::new(),
            changes,
            intervals,
            round_trips: Vec::new(),
            crossings: Vec::new(),
            echoes: Vec::new(),
        };
        model.connect();
        Ok(model)
    }

    fn connect(&mut self) {
        let classes = self.description.classes.clone();
        self.round_trips =
            classes.iter().map(|class| self.look(path_delay(class, 0, class.route.len(), class.rtt))).collect();
        for l in 0..self.description.links.len() {
            let hops = (classes.iter().enumerate())
                .flat_map(|(i, class)| (0..class.route.len()).map(move |k| (i, k)))
                .filter(|&(i, k)| classes[i].route[k].link == l);
            let crossings = hops.map(|(i, k)| Crossing {
                class: i,
                size: classes[i].route[k].size,
                sent: self.look(forward(&classes[i], k)),
            });
            let crossings = crossings.collect();
            self.crossings.push(crossings);
        }
        for class in &classes {
            let mut echoes = Vec::new();
            for (k, hop) in class.route.iter().enumerate() {
                let back = path_delay(class, k, class.route.len(), class.rtt - hop.before);
                let arrivals: Vec<Delay> = (classes.iter())
                    .flat_map(|c| (0..c.route.len()).filter(|&m| c.route[m].link == hop.link).map(|m| forward(c, m)))
                    .map(|delay| back.then(&delay))
                    .collect();
                let sent = arrivals.into_iter().map(|delay| self.look(delay)).collect();
                echoes.push(Echo { link: hop.link, density: hop.density, then: self.look(back), sent });
            }
            self.echoes.push(echoes);
        }
    }

    /// The index of a delay; each is there once.
    fn look(&mut self, delay: Delay) -> Look {
        if delay.is_zero() {
            return None;
        }
        let known = self.delays.iter().position(|d| *d == delay);
        Some(known.unwrap_or_else(|| {
            self.delays.push(delay);
            self.delays.len() - 1
        }))
    }

    /// The states with names, units and bounds.
    pub fn names(&self) -> &[State] {
        &self.states
    }

    /// Where the queue of each link is among the states; the states of its AQM come behind it.
    pub fn queues(&self) -> &[usize] {
        &self.queues
    }

    /// The states at the beginning.
    pub fn start(&self) -> Vec<f64> {
        let mut start: Vec<f64> = self.description.classes.iter().map(|c| c.initial).collect();
        for link in &self.description.links {
            start.push(link.queue);
            start.extend(link.aqm.initial(&link.parameters()));
        }
        start.iter().zip(&self.states).map(|(y, s)| y.clamp(s.lower, s.upper)).collect()
    }

    /// Where states are within their bounds, if nothing else is known of them.
    pub fn modes(&self, y: &[f64]) -> Vec<Mode> {
        self.states.iter().zip(y).map(|(state, &y)| state.mode(y)).collect()
    }

    /// Which regime is in force.
    pub fn interval(&self, t: f64) -> usize {
        self.changes.partition_point(|&change| change <= t)
    }

    /// How long ago each look back is, s, for any scalar.
    pub fn lags<S: Scalar>(&self, now: &View<'_, S>, out: &mut [S]) {
        for (delay, out) in self.delays.iter().zip(out) {
            *out = delay.seconds(|l| self.queueing(now, l));
        }
    }

    /// The slopes of all states for any scalar, as if none had bounds; `looks` are in the order of [`Model::lags`].
    pub fn slopes<S: Scalar>(&self, now: &View<'_, S>, looks: &[View<'_, S>], out: &mut [S]) {
        for l in 0..self.queues.len() {
            let arrivals = self.arrivals(now, looks, l, self.crossings[l].iter().map(|c| c.sent));
            let (grows, view) = self.at(now, l, arrivals);
            out[self.queues[l]] = grows;
            let own = self.own(l);
            self.description.links[l].aqm.slopes(&view, &mut out[own]);
        }
        for (i, slope) in out[..self.description.classes.len()].iter_mut().enumerate() {
            *slope = self.source(now, looks, i);
        }
    }

    /// The feedback of link `l`, and the share that its full buffer drops.
    pub(super) fn feedback<S: Scalar>(&self, at: &View<'_, S>, l: usize, arrivals: S) -> (AqmFeedback<S>, S) {
        let (_, view) = self.at(at, l, arrivals);
        let link = &self.description.links[l];
        let feedback = self.aqm_feedback(at, l, &view);
        let admitted = match link.signal {
            Signal::Ecn => arrivals,
            Signal::Drop => (-feedback.p + 1.0) * arrivals,
        };
        let excess = admitted - view.capacity;
        let full = at.modes[self.queues[l]] == Mode::Upper && excess.value() > 0.0;
        let loss = if full { excess / admitted } else { S::from(0.0) };
        (feedback, if at.mute { S::from(loss.value()) } else { loss })
    }

    /// The feedback of the AQM of link `l`.
    fn aqm_feedback<S: Scalar>(&self, at: &View<'_, S>, l: usize, view: &QueueView<'_, S>) -> AqmFeedback<S> {
        let feedback = self.description.links[l].aqm.feedback(view);
        if at.mute {
            feedback.constant()
        } else {
            feedback
        }
    }

    /// The slope of the queue of link `l`, and what its AQM sees.
    fn at<'a, S: Scalar>(&self, at: &View<'a, S>, l: usize, arrivals: S) -> (S, QueueView<'a, S>) {
        let link = &self.description.links[l];
        let q = self.queues[l];
        let own = self.own(l);
        let capacity = self.intervals[at.interval].capacity[l];
        let mut view = QueueView {
            queue: at.y[q],
            growth: S::from(0.0),
            arrivals,
            capacity,
            own: &at.y[own.clone()],
            modes: &at.modes[own],
        };
        let admitted = match link.signal {
            Signal::Ecn => arrivals,
            Signal::Drop => (-self.aqm_feedback(at, l, &view).p + 1.0) * arrivals,
        };
        let grows = admitted - capacity;
        view.growth = resting(at.modes[q], grows);
        (grows, view)
    }

    fn own(&self, l: usize) -> std::ops::Range<usize> {
        let end = self.queues.get(l + 1).copied().unwrap_or(self.states.len());
        self.queues[l] + 1..end
    }

    /// The arrival rate at link `l`, packets/s, of packets sent at these delayed times.
    pub(super) fn arrivals<'a, S: Scalar>(
        &self,
        now: &View<'a, S>,
        looks: &[View<'a, S>],
        l: usize,
        sent: impl Iterator<Item = Look>,
    ) -> S {
        self.crossings[l].iter().zip(sent).fold(S::from(0.0), |sum, (crossing, sent)| {
            let then = pick(now, looks, sent);
            let flows = self.intervals[then.interval].flows[crossing.class].count(then.t);
            sum + self.rate(&then, crossing.class) * (flows * crossing.size)
        })
    }

    /// The arrival rate at link `l` now, packets/s.
    pub(super) fn arrivals_now<S: Scalar>(&self, now: &View<'_, S>, looks: &[View<'_, S>], l: usize) -> S {
        self.arrivals(now, looks, l, self.crossings[l].iter().map(|c| c.sent))
    }

    /// The round trip of a class, s.
    pub(super) fn round_trip<S: Scalar>(&self, at: &View<'_, S>, i: usize) -> S {
        match self.round_trips[i] {
            Some(look) => self.delays[look].seconds(|l| self.queueing(at, l)),
            None => S::from(self.description.classes[i].rtt),
        }
    }

    /// The rate of a flow of a class, packets/s.
    pub(super) fn rate<S: Scalar>(&self, at: &View<'_, S>, i: usize) -> S {
        self.description.classes[i].law.rate(at.y[i], self.round_trip(at, i))
    }

    /// The capacity of a link, packets/s.
    pub(super) fn capacity<S>(&self, at: &View<'_, S>, l: usize) -> f64 {
        self.intervals[at.interval].capacity[l]
    }

    /// The number of flows of a class.
    pub(super) fn count<S>(&self, at: &View<'_, S>, i: usize) -> f64 {
        self.intervals[at.interval].flows[i].count(at.t)
    }

    fn queueing<S: Scalar>(&self, at: &View<'_, S>, l: usize) -> S {
        at.y[self.queues[l]] / self.intervals[at.interval].capacity[l]
    }

    /// The feedback that a flow of class `i` receives now.
    pub(super) fn source_feedback<S: Scalar>(
        &self,
        now: &View<'_, S>,
        looks: &[View<'_, S>],
        i: usize,
    ) -> SourceFeedback<S> {
        let (mut spared, mut phi, mut sum) = (S::from(1.0), S::from(0.0), S::from(0.0));
        let mut greatest: Option<S> = None;
        for echo in &self.echoes[i] {
            let arrivals = self.arrivals(now, looks, echo.link, echo.sent.iter().copied());
            let (feedback, loss) = self.feedback(&pick(now, looks, echo.then), echo.link, arrivals);
            spared = spared * (-feedback.p + 1.0) * (-loss + 1.0);
            phi = phi + feedback.phi * echo.density;
            sum = sum + feedback.price;
            greatest = Some(greatest.map_or(feedback.price, |g| g.at_least(feedback.price)));
        }
        let signalled = phi * phi / (phi * phi + 1.0);
        let then = pick(now, looks, self.round_trips[i]);
        SourceFeedback {
            x: now.y[i],
            rate: self.rate(now, i),
            x_then: then.y[i],
            rate_then: self.rate(&then, i),
            rtt: self.round_trip(now, i),
            p: -(spared * (-signalled + 1.0)) + 1.0,
            sum,
            greatest: greatest.unwrap_or(S::from(0.0)),
        }
    }

    /// The slope of the state of a flow of class `i`. Flows that begin take part in the mean with their first one.
    fn source<S: Scalar>(&self, now: &View<'_, S>, looks: &[View<'_, S>], i: usize) -> S {
        let class = &self.description.classes[i];
        let flows = self.intervals[now.interval].flows[i];
        let count = flows.count(now.t);
        if count == 0.0 && flows.growth == 0.0 {
            return S::from(0.0);
        }
        let slope = class.law.slope(&self.source_feedback(now, looks, i));
        if flows.growth > 0.0 {
            slope + (-now.y[i] + class.initial) * (flows.growth / count.max(1.0))
        } else {
            slope
        }
    }
}

/// The view of a look, or of the present.
fn pick<'a, S: Copy>(now: &View<'a, S>, looks: &[View<'a, S>], look: Look) -> View<'a, S> {
    look.map_or(*now, |j| looks[j])
}

/// From hop `k` of a route to before hop `end`, with so many seconds without queueing.
fn path_delay(class: &Class, k: usize, end: usize, constant: f64) -> Delay {
    let mut queues: Vec<usize> = match class.law.includes_queueing() {
        true => class.route[k..end].iter().map(|hop| hop.link).collect(),
        false => Vec::new(),
    };
    queues.sort_unstable();
    Delay { constant, queues }
}

/// From the source to hop `k`.
fn forward(class: &Class, k: usize) -> Delay {
    path_delay(class, 0, k, class.route[k].before)
}

impl System for Model {
    fn states(&self) -> &[State] {
        &self.states
    }

    fn looks(&self) -> usize {
        self.delays.len()
    }

    fn delays(&self, now: &View<'_, f64>, out: &mut [f64]) {
        self.lags(now, out);
    }

    fn slopes(&self, now: &View<'_, f64>, looks: &[View<'_, f64>], out: &mut [f64]) {
        Model::slopes(self, now, looks, out);
    }

    fn past(&self, _: f64, out: &mut [f64]) {
        out.copy_from_slice(&self.start());
    }

    fn changes(&self) -> &[f64] {
        &self.changes
    }

    fn switches(&self) -> usize {
        self.description.links.iter().map(|link| link.aqm.corners()).sum()
    }

    fn switch(&self, now: &View<'_, f64>, looks: &[View<'_, f64>], out: &mut [f64]) {
        let mut out = out;
        for (l, link) in self.description.links.iter().enumerate() {
            let (here, rest) = out.split_at_mut(link.aqm.corners());
            if !here.is_empty() {
                let arrivals = self.arrivals_now(now, looks, l);
                link.aqm.corner(&self.at(now, l, arrivals).1, here);
            }
            out = rest;
        }
    }
}
