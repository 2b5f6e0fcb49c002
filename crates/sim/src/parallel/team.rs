//! The threads of a run. Each simulates a part of its own, and takes a step of another part when it waits for one that
//! nobody simulates.
//!
//! Where there are fewer free processors than threads, the part that a thread waits for may belong to a thread without a
//! processor. It would get one some milliseconds later, and lose it again soon, at each of thousands of meetings.

use super::exchange::{result_of, Exchange};
use crate::engine::Engine;
use crate::mailboxes::Apart;
use crate::plan::Plan;
use crate::result::RunResult;
use crate::run::RunError;
use std::hint::spin_loop;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a thread that waits looks at the clocks of others before it takes their steps.
const SPINS: u32 = 1 << 10;
/// How long a thread sleeps that seems to share its processor with another. The operating system gives a thread that
/// wakes up an idle one, where it leaves two that are busy for long together.
const SLEEP: Duration = Duration::from_micros(50);
/// Steps between two such sleeps, at least. While they are of no use, because there is no idle processor, the next one
/// comes after twice as many.
const STEPS_PER_SLEEP: u64 = 64;

/// The threads of a run, one for each part.
#[derive(Debug)]
pub struct Team<'a> {
    plan: &'a Plan,
    seed: u64,
    exchange: Exchange<'a>,
    /// Each is locked while a thread takes a step of that part.
    parts: Vec<Apart<Mutex<State>>>,
}

/// A part of the network.
#[derive(Debug)]
enum State {
    Unbuilt,
    Running(Box<Engine>),
    Ended(Box<RunResult>),
}

/// Tells other threads not to wait when this one panics.
struct BreaksOff<'a>(&'a Exchange<'a>);

impl Drop for BreaksOff<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.break_off();
        }
    }
}

impl<'a> Team<'a> {
    pub fn new(plan: &'a Plan, seed: u64, exchange: Exchange<'a>) -> Team<'a> {
        let parts = (0..exchange.partition.parts).map(|_| Apart(Mutex::new(State::Unbuilt))).collect();
        Team { plan, seed, exchange, parts }
    }

    /// Simulates all parts to the end and returns their results.
    pub fn run(self) -> Result<Vec<RunResult>, RunError> {
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.parts.len())
                .map(|part| {
                    let team = &self;
                    scope.spawn(move || team.work(part))
                })
                .collect();
            let mut ends = vec![self.work(0)];
            ends.extend(others.into_iter().map(|thread| match thread.join() {
                Ok(end) => end,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            ends.into_iter().collect::<Result<(), _>>()
        })?;
        Ok(self.results())
    }

    /// Simulates part `own` to the end, and of others what nobody else does and `own` waits for.
    pub fn work(&self, own: usize) -> Result<(), RunError> {
        let _guard = BreaksOff(&self.exchange);
        let (mut spins, mut patience) = (0, SPINS);
        let (mut steps, mut steps_to_sleep) = (STEPS_PER_SLEEP, STEPS_PER_SLEEP);
        while !self.exchange.has_ended(own) {
            if self.step(own)? {
                spins = 0;
                steps += 1;
                continue;
            }
            spins += 1;
            if spins < patience {
                spin_loop();
                continue;
            }
            spins = 0;
            if self.exchange.is_over() {
                return Err(RunError::Cancelled);
            }
            if !self.help(own)? {
                patience = SPINS;
                thread::yield_now();
                continue;
            }
            // Who has no processor now will hardly have one at the next meeting.
            patience = 1;
            steps += 1;
            if steps >= steps_to_sleep {
                thread::sleep(SLEEP);
                steps_to_sleep = if steps > 2 * steps_to_sleep { STEPS_PER_SLEEP } else { 2 * steps_to_sleep };
                steps = 0;
            }
        }
        Ok(())
    }

    /// Takes a step of another part than `own`, if there is one that may go on and does not.
    fn help(&self, own: usize) -> Result<bool, RunError> {
        for part in (0..self.parts.len()).filter(|&part| part != own) {
            if self.step(part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the next step of `part`. Returns whether there was one and no other thread was about to take it.
    fn step(&self, part: usize) -> Result<bool, RunError> {
        if self.exchange.bound(part).is_none() {
            return Ok(false);
        }
        // It is poisoned if a thread has panicked, and then nobody goes on.
        let Ok(mut state) = self.parts[part].0.try_lock() else { return Ok(false) };
        // Another thread may have taken this step since.
        let Some(bound) = self.exchange.bound(part) else { return Ok(false) };
        if let State::Unbuilt = *state {
            *state = State::Running(Box::new(self.exchange.engine(self.plan, self.seed, part)?));
        }
        let State::Running(engine) = &mut *state else { unreachable!("a part that has ended has no bound") };
        if self.exchange.advance(part, engine, bound)? {
            let State::Running(engine) = std::mem::replace(&mut *state, State::Unbuilt) else { unreachable!("it ran") };
            *state = State::Ended(Box::new(result_of(self.plan, *engine)));
        }
        Ok(true)
    }

    /// The results of all parts, which have ended.
    pub fn results(self) -> Vec<RunResult> {
        let states = self.parts.into_iter().map(|part| part.0.into_inner().unwrap_or_else(PoisonError::into_inner));
        let result = |state| match state {
            State::Ended(result) => *result,
            _ => unreachable!("all parts have ended"),
        };
        states.map(result).collect()
    }
}
