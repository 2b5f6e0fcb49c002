//! The equations of the fluid model.

use super::aqm::{Aqm, AqmFeedback, QueueView};
use super::description::{Description, Signal};
use super::invalid::Invalid;
use super::law::SourceFeedback;
use super::parameter_intervals::{parameter_intervals, ParameterInterval};
use super::paths::{DelayIndex, Paths};
use super::scalar::Scalar;
use super::solver::{bounded_slope, System};
use super::state::{Mode, State, View};

/// The fluid model of a network.
///
/// The states are the window or rate of a flow of each class, then for each link its queue and the states of its AQM.
/// Class i has n_i flows with rates x_i. Its packets reach link l a time f_il after they are sent, and their
/// acknowledgements return b_il later, with f_il + b_il = R_i, the round trip. The equations are:
///
/// - Arrivals: lambda_l(t) = sum of n_i(t - f_il) x_i(t - f_il) over the classes that cross link l.
/// - Queue: q_l' = lambda_l - C_l, between 0 and the buffer; with `drop`, q_l' = (1 - p_l) lambda_l - C_l.
/// - AQM: its states and its feedback are functions of the queue and lambda_l (`aqm`).
/// - Loss: a full queue loses the share (a - C_l) / a of the packets that the AQM admits, a = lambda_l or
///   (1 - p_l) lambda_l.
/// - Feedback: at time t a source receives the feedback that link l gave at t - b_il. The share of its packets that are
///   marked or lost is 1 - (1 - u^2 / (1 + u^2)) product of (1 - p_l)(1 - loss_l), where u is the sum of densities
///   times phi_l of DRQ, (15) of Shin, Chong and Rhee. Prices are passed on unchanged.
/// - Source: its law computes x_i' from the feedback (`law`).
///
/// Assumptions: there are many flows in each class, all alike; windows are real numbers; a queue does not smooth the
/// rates of the flows that cross it; there are no timeouts and no slow start; acknowledgements meet no queues. f_il
/// contains the present queueing delays before link l instead of those that the packets met. This changes neither
/// the equilibrium nor the linear model around it.
#[derive(Debug)]
pub struct Model {
    /// The description of the model.
    pub description: Description,
    states: Vec<State>,
    /// The index of each link's queue among the states.
    queues: Vec<usize>,
    changes: Vec<f64>,
    intervals: Vec<ParameterInterval>,
    paths: Paths,
}

impl Model {
    /// Builds the model of a description.
    ///
    /// # Errors
    /// Names the first invalid value of the description.
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
        let paths = Paths::new(&description);
        Ok(Model { description, states, queues, changes, intervals, paths })
    }

    /// The index of each link's queue among the states. The states of its AQM follow it.
    pub fn queues(&self) -> &[usize] {
        &self.queues
    }

    /// The states at the beginning.
    pub fn initial_states(&self) -> Vec<f64> {
        let mut initial: Vec<f64> = self.description.classes.iter().map(|c| c.initial).collect();
        for link in &self.description.links {
            initial.push(link.queue);
            initial.extend(link.aqm.initial(&link.parameters()));
        }
        initial.iter().zip(&self.states).map(|(y, s)| y.clamp(s.lower, s.upper)).collect()
    }

    /// The modes of the states `y` if their past is unknown.
    pub fn modes(&self, y: &[f64]) -> Vec<Mode> {
        self.states.iter().zip(y).map(|(state, &y)| state.mode(y)).collect()
    }

    /// The index of the parameter interval that contains `t`.
    pub fn interval(&self, t: f64) -> usize {
        self.changes.partition_point(|&change| change <= t)
    }

    /// The delays in the state `now`, s.
    pub fn lags<S: Scalar>(&self, now: &View<'_, S>, out: &mut [S]) {
        for (delay, out) in self.paths.delays.iter().zip(out) {
            *out = delay.seconds(|l| self.queueing(now, l));
        }
    }

    /// The slopes of all states, without regard to bounds. `delayed` has the state at each delay, in the order of
    /// [`Model::lags`].
    pub fn slopes<S: Scalar>(&self, now: &View<'_, S>, delayed: &[View<'_, S>], out: &mut [S]) {
        for l in 0..self.queues.len() {
            let arrivals = self.arrivals(now, delayed, l, self.paths.crossings[l].iter().map(|c| c.sent));
            let (growth, view) = self.queue_view(now, l, arrivals);
            out[self.queues[l]] = growth;
            let own = self.aqm_states(l);
            self.description.links[l].aqm.slopes(&view, &mut out[own]);
        }
        for (i, slope) in out[..self.description.classes.len()].iter_mut().enumerate() {
            *slope = self.source_slope(now, delayed, i);
        }
    }

    /// The feedback of link `l`, and the share of admitted packets that its full buffer drops.
    pub(super) fn feedback<S: Scalar>(&self, at: &View<'_, S>, l: usize, arrivals: S) -> (AqmFeedback<S>, S) {
        let (_, view) = self.queue_view(at, l, arrivals);
        let link = &self.description.links[l];
        let feedback = self.aqm_feedback(at, l, &view);
        let admitted = match link.signal {
            Signal::Ecn => arrivals,
            Signal::Drop => (-feedback.p + 1.0) * arrivals,
        };
        let excess = admitted - view.capacity;
        let full = at.modes[self.queues[l]] == Mode::Upper && excess.value() > 0.0;
        let loss = if full { excess / admitted } else { S::from(0.0) };
        (feedback, if at.constant_feedback { S::from(loss.value()) } else { loss })
    }

    /// The feedback of the AQM of link `l`.
    fn aqm_feedback<S: Scalar>(&self, at: &View<'_, S>, l: usize, view: &QueueView<'_, S>) -> AqmFeedback<S> {
        let feedback = self.description.links[l].aqm.feedback(view);
        if at.constant_feedback {
            feedback.constant()
        } else {
            feedback
        }
    }

    /// The slope of the queue of link `l`, without regard to its bounds, and the view of its AQM.
    fn queue_view<'a, S: Scalar>(&self, at: &View<'a, S>, l: usize, arrivals: S) -> (S, QueueView<'a, S>) {
        let link = &self.description.links[l];
        let q = self.queues[l];
        let own = self.aqm_states(l);
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
        let growth = admitted - capacity;
        view.growth = bounded_slope(at.modes[q], growth);
        (growth, view)
    }

    /// The indices of the states of the AQM of link `l`.
    fn aqm_states(&self, l: usize) -> std::ops::Range<usize> {
        let end = self.queues.get(l + 1).copied().unwrap_or(self.states.len());
        self.queues[l] + 1..end
    }

    /// The arrival rate at link `l`, packets/s, of packets sent at these delayed times.
    pub(super) fn arrivals<'a, S: Scalar>(
        &self,
        now: &View<'a, S>,
        delayed: &[View<'a, S>],
        l: usize,
        sent: impl Iterator<Item = DelayIndex>,
    ) -> S {
        self.paths.crossings[l].iter().zip(sent).fold(S::from(0.0), |sum, (crossing, sent)| {
            let then = view_at(now, delayed, sent);
            let flows = self.intervals[then.interval].flows[crossing.class].count(then.t);
            sum + self.rate(&then, crossing.class) * (flows * crossing.size)
        })
    }

    /// The arrival rate at link `l` now, packets/s.
    pub(super) fn arrivals_now<S: Scalar>(&self, now: &View<'_, S>, delayed: &[View<'_, S>], l: usize) -> S {
        self.arrivals(now, delayed, l, self.paths.crossings[l].iter().map(|c| c.sent))
    }

    /// The round trip of a class, s.
    pub(super) fn round_trip<S: Scalar>(&self, at: &View<'_, S>, i: usize) -> S {
        match self.paths.round_trips[i] {
            Some(delay) => self.paths.delays[delay].seconds(|l| self.queueing(at, l)),
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
        delayed: &[View<'_, S>],
        i: usize,
    ) -> SourceFeedback<S> {
        let (mut unmarked, mut phi, mut price_sum) = (S::from(1.0), S::from(0.0), S::from(0.0));
        let mut max_price: Option<S> = None;
        for path in &self.paths.feedback[i] {
            let arrivals = self.arrivals(now, delayed, path.link, path.sent.iter().copied());
            let (feedback, loss) = self.feedback(&view_at(now, delayed, path.at_link), path.link, arrivals);
            unmarked = unmarked * (-feedback.p + 1.0) * (-loss + 1.0);
            phi = phi + feedback.phi * path.density;
            price_sum = price_sum + feedback.price;
            max_price = Some(max_price.map_or(feedback.price, |g| g.at_least(feedback.price)));
        }
        let drq_marked = phi * phi / (phi * phi + 1.0);
        let then = view_at(now, delayed, self.paths.round_trips[i]);
        SourceFeedback {
            x: now.y[i],
            rate: self.rate(now, i),
            delayed_x: then.y[i],
            delayed_rate: self.rate(&then, i),
            rtt: self.round_trip(now, i),
            p: -(unmarked * (-drq_marked + 1.0)) + 1.0,
            price_sum,
            max_price: max_price.unwrap_or(S::from(0.0)),
        }
    }

    /// The slope of the state of a flow of class `i`. The state is the mean over its flows, so flows that start pull it
    /// towards their initial state.
    fn source_slope<S: Scalar>(&self, now: &View<'_, S>, delayed: &[View<'_, S>], i: usize) -> S {
        let class = &self.description.classes[i];
        let flows = self.intervals[now.interval].flows[i];
        let count = flows.count(now.t);
        if count == 0.0 && flows.growth == 0.0 {
            return S::from(0.0);
        }
        let slope = class.law.slope(&self.source_feedback(now, delayed, i));
        if flows.growth > 0.0 {
            slope + (-now.y[i] + class.initial) * (flows.growth / count.max(1.0))
        } else {
            slope
        }
    }
}

/// The view at a delay.
fn view_at<'a, S: Copy>(now: &View<'a, S>, delayed: &[View<'a, S>], delay: DelayIndex) -> View<'a, S> {
    delay.map_or(*now, |j| delayed[j])
}

impl System for Model {
    fn states(&self) -> &[State] {
        &self.states
    }

    fn delay_count(&self) -> usize {
        self.paths.delays.len()
    }

    fn delays(&self, now: &View<'_, f64>, out: &mut [f64]) {
        self.lags(now, out);
    }

    fn slopes(&self, now: &View<'_, f64>, delayed: &[View<'_, f64>], out: &mut [f64]) {
        Model::slopes(self, now, delayed, out);
    }

    fn past(&self, _: f64, out: &mut [f64]) {
        out.copy_from_slice(&self.initial_states());
    }

    fn changes(&self) -> &[f64] {
        &self.changes
    }

    fn switch_count(&self) -> usize {
        self.description.links.iter().map(|link| link.aqm.switch_count()).sum()
    }

    fn switch_values(&self, now: &View<'_, f64>, delayed: &[View<'_, f64>], out: &mut [f64]) {
        let mut out = out;
        for (l, link) in self.description.links.iter().enumerate() {
            let (own, rest) = out.split_at_mut(link.aqm.switch_count());
            if !own.is_empty() {
                let arrivals = self.arrivals_now(now, delayed, l);
                link.aqm.switch_values(&self.queue_view(now, l, arrivals).1, own);
            }
            out = rest;
        }
    }
}
