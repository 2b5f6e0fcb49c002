//! Breaking points of the solution (jumps of a derivative), and the side of them on which each delayed time lies.

use super::history::History;

/// Corners are followed until the solution has so many derivatives there; error control does the rest.
pub const FOLLOWED: u8 = 2;

/// A time at which a derivative jumps, and a step ended.
#[derive(Clone, Copy, Debug)]
struct Break {
    t: f64,
    /// The step that begins there.
    step: usize,
    /// The lowest derivative that jumps.
    order: u8,
}

/// A look that comes to a break.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Which look.
    pub look: usize,
    /// When the break was, s.
    pub t: f64,
    forward: bool,
}

/// All breaks so far, and for each look the number of those that are behind it.
#[derive(Debug)]
pub struct Breaks {
    breaks: Vec<Break>,
    passed: Vec<usize>,
    /// The step in which each look was last.
    steps: Vec<usize>,
}

impl Breaks {
    /// At the beginning; the past lies before one break.
    pub fn new(beginning: f64, looks: usize) -> Breaks {
        Breaks {
            breaks: vec![Break { t: beginning, step: 1, order: 1 }],
            passed: vec![0; looks],
            steps: vec![0; looks],
        }
    }

    /// A break now, at the end of all steps.
    pub fn push(&mut self, t: f64, step: usize, order: u8) {
        match self.breaks.last_mut() {
            _ if order > FOLLOWED => (),
            Some(last) if last.step == step => last.order = last.order.min(order),
            _ => self.breaks.push(Break { t, step, order }),
        }
    }

    /// Does a look at time `s` come to a break?
    pub fn crossing(&self, look: usize, s: f64) -> Option<Crossing> {
        let passed = self.passed[look];
        let ahead = self.breaks.get(passed).filter(|b| s > b.t);
        let behind = || self.breaks[..passed].last().filter(|b| s < b.t);
        match ahead {
            Some(b) => Some(Crossing { look, t: b.t, forward: true }),
            None => behind().map(|b| Crossing { look, t: b.t, forward: false }),
        }
    }

    /// A look passes the break; tells the lowest derivative that jumps now.
    pub fn cross(&mut self, crossing: Crossing) -> u8 {
        let passed = &mut self.passed[crossing.look];
        if crossing.forward {
            *passed += 1;
            self.breaks[*passed - 1].order + 1
        } else {
            *passed -= 1;
            self.breaks[*passed].order + 1
        }
    }

    /// The looks are somewhere else now.
    pub fn place(&mut self, look: usize, s: f64) {
        self.passed[look] = self.breaks.partition_point(|b| b.t <= s);
    }

    /// The step in which a look at time `s` is, on its side of all breaks.
    pub fn step(&mut self, history: &History, look: usize, s: f64) -> usize {
        let passed = self.passed[look];
        let first = if passed == 0 { 0 } else { self.breaks[passed - 1].step };
        let last = self.breaks.get(passed).map_or(usize::MAX, |b| b.step - 1);
        let found = history.find(s, self.steps[look]).clamp(first.min(last), last);
        self.steps[look] = found.min(history.len() - 1);
        found
    }
}
