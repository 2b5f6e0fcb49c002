//! What a queue for another program is made from.

use super::bottleneck::Bottleneck;
use super::held::{Header, Held};
use super::queue::PacketQueue;
use super::rate::check_rate;
use crate::algo::Discipline;
use crate::policy::{Env, Limit, Signal};
use alloc::format;
use marqueue_core::params::{ParamError, PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Rate, Rng};

/// The longest propagation delay.
const MAX_DELAY: Dur = Dur(3_600_000_000_000);

/// The description of a queue: from [`Config::new`], changed by the methods below, built by [`Config::queue`] or
/// [`Config::bottleneck`].
#[derive(Clone, Debug)]
pub struct Config {
    spec: PolicySpec,
    env: Env,
    seed: u64,
    keeps_dropped: bool,
}

impl Config {
    /// An algorithm by its name (see [`catalogue`](crate::catalogue)) in front of a link of `rate`. Unless changed, it has its
    /// default parameters, a buffer of 1000 packets, packets of 1500 bytes, marks as CE and no propagation delay.
    pub fn new(algorithm: &str, rate: Rate) -> Config {
        Config {
            spec: PolicySpec { name: algorithm.into(), params: Default::default() },
            env: Env {
                rate,
                mean_packet: Bytes(1500),
                limit: Limit::Packets(1000),
                delay: Dur::ZERO,
                signal: Signal::Ecn,
                densities: None,
            },
            seed: 0,
            keeps_dropped: false,
        }
    }

    /// Sets a parameter of the algorithm, in the base unit of its declaration: seconds, bits a second, bytes, packets.
    #[must_use]
    pub fn set(mut self, parameter: &str, value: impl Into<Value>) -> Config {
        self.spec.params.insert(parameter.into(), value.into());
        self
    }

    /// The buffer.
    #[must_use]
    pub fn buffer(mut self, limit: Limit) -> Config {
        self.env.limit = limit;
        self
    }

    /// The usual size of a packet, by which algorithms convert between packets and bytes.
    #[must_use]
    pub fn mean_packet(mut self, size: Bytes) -> Config {
        self.env.mean_packet = size;
        self
    }

    /// How a mark reaches the sender: as CE or as a drop.
    #[must_use]
    pub fn signal(mut self, signal: Signal) -> Config {
        self.env.signal = signal;
        self
    }

    /// The propagation delay behind the queue.
    #[must_use]
    pub fn delay(mut self, delay: Dur) -> Config {
        self.env.delay = delay;
        self
    }

    /// The seed of random decisions. The same seed and the same calls give the same packets.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Config {
        self.seed = seed;
        self
    }

    /// Keeps packets that the queue drops until the program takes them; otherwise they are dropped in Rust's sense too.
    #[must_use]
    pub fn keep_dropped(mut self) -> Config {
        self.keeps_dropped = true;
        self
    }

    /// An empty queue whose server is the program.
    ///
    /// # Errors
    /// If the algorithm is unknown, or a parameter, the rate, the packet size or the delay is refused.
    pub fn queue<T>(&self) -> Result<PacketQueue<T>, ParamError> {
        Ok(PacketQueue::new(self.build()?))
    }

    /// An empty queue with a transmitter of the given rate and the propagation delay.
    ///
    /// # Errors
    /// As [`Config::queue`].
    pub fn bottleneck<T>(&self) -> Result<Bottleneck<T>, ParamError> {
        Ok(Bottleneck::new(self.build()?, self.env.rate, self.env.delay))
    }

    fn build<T>(&self) -> Result<Held<T>, ParamError> {
        check_rate(self.env.rate)?;
        let Env { mean_packet, delay, .. } = self.env;
        if !(1..=u64::from(Header::MAX_BYTES)).contains(&mean_packet.0) {
            let message = format!("got {} bytes, expected 1 to {}", mean_packet.0, Header::MAX_BYTES);
            return Err(ParamError::new("mean_packet", message));
        }
        if delay > MAX_DELAY {
            return Err(ParamError::new("delay", format!("got {} ns, expected at most an hour", delay.0)));
        }
        let rng = Rng::named(self.seed, "embed");
        Ok(Held::new(Discipline::build(&self.spec, self.env.clone(), rng)?, self.keeps_dropped))
    }
}
