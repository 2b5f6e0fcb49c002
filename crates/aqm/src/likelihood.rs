//! How a probability becomes signals: by chance, or evenly spaced.

use marqueue_core::Rng;

marqueue_core::choice! {
    /// How a probability becomes signals.
    pub enum Likelihood {
        /// Evenly: probabilities are summed, and each whole one is a signal.
        Recurrent = "recurrent",
        /// By a random number for each packet.
        Random = "random",
    }
}

/// Turns the probabilities of one queue into signals. RFC 9332, figure 4, lines 23 to 30: recur().
#[derive(Clone, Debug)]
pub struct Signaller {
    likelihood: Likelihood,
    /// q.count: the sum of probabilities since the last signal.
    count: f64,
}

impl Signaller {
    /// A signaller of one queue.
    pub fn new(likelihood: Likelihood) -> Signaller {
        Signaller { likelihood, count: 0.0 }
    }

    /// Is this packet signalled, with probability `p` in [0, 1]?
    #[inline]
    pub fn signals(&mut self, p: f64, rng: &mut Rng) -> bool {
        match self.likelihood {
            Likelihood::Random => p > 0.0 && rng.uniform() < p,
            Likelihood::Recurrent => {
                self.count += p;
                let hit = self.count > 1.0;
                self.count -= f64::from(u8::from(hit));
                hit
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recurrent_signals_are_evenly_spaced() {
        let (mut even, mut rng) = (Signaller::new(Likelihood::Recurrent), Rng::named(1, "even"));
        let hits: Vec<u32> = (1..=12).filter(|_| even.signals(0.25, &mut rng)).collect();
        // The sum exceeds 1, and does not only reach it, at the fifth packet and every fourth from there.
        assert_eq!(hits, [5, 9]);
    }

    #[test]
    fn random_signals_have_their_probability() {
        let (mut random, mut rng) = (Signaller::new(Likelihood::Random), Rng::named(1, "random"));
        let hits = (0..100_000).filter(|_| random.signals(0.3, &mut rng)).count() as f64;
        // Five standard deviations of sqrt(1e5 0.3 0.7) = 145.
        assert!((hits - 30_000.0).abs() < 725.0, "{hits}");
    }
}
