//! The impaired pipe of one link, and its counts.

use super::{Jitter, Loss, Reorder};
use crate::plan::LinkPlan;
use crate::result::PipeWindow;
use marqueue_core::params::ParamError;
use marqueue_core::{Rng, Time};
use std::collections::VecDeque;

/// The pipe of an impaired link: a packet may be lost; otherwise it is delayed, and may be held back.
#[derive(Debug)]
pub struct Pipe {
    loss: Option<(Loss, Rng)>,
    jitter: Option<(Jitter, Rng)>,
    reorder: Option<(Reorder, Rng)>,
    /// For each packet in a pipe that reorders, in order of arrival: the number of later packets that have overtaken
    /// it.
    overtaken: VecDeque<u32>,
    /// One for each measuring window, and one for packets that arrive after the end.
    windows: Vec<PipeWindow>,
    /// The current measuring window.
    window: usize,
}

impl Pipe {
    /// The pipe of `link`, or `None` without impairments. Its random streams are `link/NAME/loss` and so on.
    ///
    /// # Errors
    /// If a model is unknown or a parameter is refused.
    pub fn build(link: &LinkPlan, windows: usize, seed: u64) -> Result<Option<Box<Pipe>>, ParamError> {
        let plan = &link.pipe;
        let stream = |what: &str| Rng::named(seed, &format!("link/{}/{what}", link.name));
        let part = |what: &'static str| move |e: ParamError| e.within(what);
        let loss = plan.loss.as_ref().map(Loss::build).transpose().map_err(part("loss"))?;
        let jitter = plan.jitter.as_ref().map(Jitter::build).transpose().map_err(part("jitter"))?;
        let reorder = plan.reorder.as_ref().map(Reorder::build).transpose().map_err(part("reorder"))?;
        if loss.is_none() && jitter.is_none() && reorder.is_none() {
            return Ok(None);
        }
        Ok(Some(Box::new(Pipe {
            loss: loss.map(|loss| (loss, stream("loss"))),
            jitter: jitter.map(|jitter| (jitter, stream("jitter"))),
            reorder: reorder.map(|reorder| (reorder, stream("reorder"))),
            overtaken: VecDeque::new(),
            windows: vec![PipeWindow::default(); windows + 1],
            window: 0,
        })))
    }

    /// Does the pipe keep the order of packets?
    pub fn keeps_order(&self) -> bool {
        self.reorder.is_none() && self.jitter.as_ref().is_none_or(|(jitter, _)| jitter.keeps_order())
    }

    /// A packet is due at the far end at `due`; calls are in order of these times. Returns its arrival time, or `None`
    /// if it is lost. `edges` are the ends of the measuring windows.
    #[inline]
    pub fn pass(&mut self, due: Time, edges: &[Time]) -> Option<Time> {
        while self.window < edges.len() && due >= edges[self.window] {
            self.window += 1;
        }
        let counts = &mut self.windows[self.window];
        counts.packets += 1;
        if let Some((loss, rng)) = &mut self.loss {
            if loss.is_lost(rng) {
                counts.lost += 1;
                return None;
            }
        }
        let mut at = due;
        if let Some((jitter, rng)) = &mut self.jitter {
            at = jitter.arrival(at, rng);
        }
        if let Some((reorder, rng)) = &mut self.reorder {
            at = reorder.arrival(at, rng);
        }
        counts.extra_delay += (at - due).secs();
        Some(at)
    }

    /// Counts overtaking: the packet that has just passed will arrive before `later` of the `waiting` others.
    pub fn record_overtaking(&mut self, later: usize, waiting: usize) {
        self.overtaken.drain(..self.overtaken.len() - waiting);
        let counts = &mut self.windows[self.window];
        let position = waiting - later;
        for overtakings in self.overtaken.range_mut(position..) {
            counts.reordered += u64::from(*overtakings == 0);
            *overtakings += 1;
        }
        counts.overtakings += later as u64;
        self.overtaken.insert(position, 0);
    }

    /// The counts of each measuring window.
    pub fn into_windows(mut self) -> Vec<PipeWindow> {
        self.windows.pop();
        self.windows
    }
}
