//! The impairments of one link, and what they have done.

use super::Loss;
use crate::plan::{LinkPlan, PipePlan};
use crate::result::PipeWindow;
use marqueue_core::params::ParamError;
use marqueue_core::{Rng, Time};

/// The pipe of a link that is impaired.
#[derive(Debug)]
pub struct Pipe {
    loss: Option<(Loss, Rng)>,
    /// One for each measuring window, and one for what is known already of the time after the end.
    windows: Vec<PipeWindow>,
    /// The window that the packets are in.
    window: usize,
}

impl Pipe {
    /// The pipe of `link`, if it is impaired; its random streams are `link/NAME/loss` and so on.
    ///
    /// # Errors
    /// If a model is unknown or a parameter is refused.
    pub fn of(link: &LinkPlan, windows: usize, seed: u64) -> Result<Option<Box<Pipe>>, ParamError> {
        let PipePlan { loss } = &link.pipe;
        if loss.is_none() {
            return Ok(None);
        }
        let stream = |what: &str| Rng::named(seed, &format!("link/{}/{what}", link.name));
        let loss = match loss {
            Some(spec) => Some((Loss::build(spec).map_err(|e| e.within("loss"))?, stream("loss"))),
            None => None,
        };
        Ok(Some(Box::new(Pipe { loss, windows: vec![PipeWindow::default(); windows + 1], window: 0 })))
    }

    /// A packet is due at the far end at `due`; packets come in the order of these times. Returns when
    /// it arrives, if it does. `edges` are those of the measuring windows.
    #[inline]
    pub fn pass(&mut self, due: Time, edges: &[Time]) -> Option<Time> {
        while self.window < edges.len() && due >= edges[self.window] {
            self.window += 1;
        }
        let counts = &mut self.windows[self.window];
        counts.packets += 1;
        if let Some((loss, rng)) = &mut self.loss {
            if loss.loses(rng) {
                counts.lost += 1;
                return None;
            }
        }
        Some(due)
    }

    /// What happened in each measuring window.
    pub fn into_windows(mut self) -> Vec<PipeWindow> {
        self.windows.pop();
        self.windows
    }
}
