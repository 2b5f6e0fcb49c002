//! Breaking points of the solution (jumps of a derivative), and on which side of each one every delayed time lies.

use super::history::History;

/// The highest derivative whose jumps are tracked. Error control is enough for higher ones.
pub const MAX_TRACKED_ORDER: u8 = 2;

/// A time at which a derivative jumps. A step ended there.
#[derive(Clone, Copy, Debug)]
struct Break {
    t: f64,
    /// The step that begins at the break.
    step: usize,
    /// The lowest derivative that jumps.
    order: u8,
}

/// A delayed time that reaches a break.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The index of the delay.
    pub delay: usize,
    /// The time of the break, s.
    pub t: f64,
    /// True if the delayed time moves forward.
    forward: bool,
}

/// All breaks so far, with the position of each delayed time among them.
#[derive(Debug)]
pub struct Breaks {
    breaks: Vec<Break>,
    /// For each delay the number of breaks before its delayed time.
    passed: Vec<usize>,
    /// For each delay the step that contained its delayed time last.
    steps: Vec<usize>,
}

impl Breaks {
    /// The breaks at the beginning, which is itself one.
    pub fn new(beginning: f64, delays: usize) -> Breaks {
        Breaks {
            breaks: vec![Break { t: beginning, step: 1, order: 1 }],
            passed: vec![0; delays],
            steps: vec![0; delays],
        }
    }

    /// Adds a break at the end of the last step.
    pub fn push(&mut self, t: f64, step: usize, order: u8) {
        match self.breaks.last_mut() {
            _ if order > MAX_TRACKED_ORDER => (),
            Some(last) if last.step == step => last.order = last.order.min(order),
            _ => self.breaks.push(Break { t, step, order }),
        }
    }

    /// The break that a delayed time crosses on its way to `s`, if any.
    pub fn crossing(&self, delay: usize, s: f64) -> Option<Crossing> {
        let passed = self.passed[delay];
        let ahead = self.breaks.get(passed).filter(|b| s > b.t);
        let behind = || self.breaks[..passed].last().filter(|b| s < b.t);
        match ahead {
            Some(b) => Some(Crossing { delay, t: b.t, forward: true }),
            None => behind().map(|b| Crossing { delay, t: b.t, forward: false }),
        }
    }

    /// Moves a delayed time across a break. Returns the lowest derivative of the solution that jumps now.
    pub fn cross(&mut self, crossing: Crossing) -> u8 {
        let passed = &mut self.passed[crossing.delay];
        if crossing.forward {
            *passed += 1;
            self.breaks[*passed - 1].order + 1
        } else {
            *passed -= 1;
            self.breaks[*passed].order + 1
        }
    }

    /// Places a delayed time at `s`, across any number of breaks.
    pub fn place(&mut self, delay: usize, s: f64) {
        self.passed[delay] = self.breaks.partition_point(|b| b.t <= s);
    }

    /// The step that contains the delayed time `s`, on its side of all breaks.
    pub fn find_step(&mut self, history: &History, delay: usize, s: f64) -> usize {
        let passed = self.passed[delay];
        let first = if passed == 0 { 0 } else { self.breaks[passed - 1].step };
        let last = self.breaks.get(passed).map_or(usize::MAX, |b| b.step - 1);
        let found = history.find(s, self.steps[delay]).clamp(first.min(last), last);
        self.steps[delay] = found.min(history.len() - 1);
        found
    }
}
