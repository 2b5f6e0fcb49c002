//! The server's application: what data it has, and when.

use marqueue_core::{Dur, Rate, Time};

/// Writes the data of a flow: all that the stream takes, or a full packet's worth at even intervals.
#[derive(Debug)]
pub struct Application {
    /// Bytes that are not written yet; `None` without end.
    left: Option<u64>,
    pace: Option<Pace>,
}

#[derive(Debug)]
struct Pace {
    rate: Rate,
    chunk: u64,
    /// When it was asked for data.
    begun: Option<Time>,
    /// Chunks that it had so far.
    chunks: u64,
    /// Bytes of them that are not written.
    waiting: u64,
}

impl Application {
    /// With `size` bytes in all. With a rate it has `chunk` bytes at a time, the first when it is asked.
    pub fn new(size: Option<u64>, rate: Option<Rate>, chunk: u64) -> Application {
        let pace = rate.map(|rate| Pace { rate, chunk, begun: None, chunks: 0, waiting: 0 });
        Application { left: size, pace }
    }

    /// It has been asked, and knows what time it is.
    pub fn advance(&mut self, now: Time) {
        if let Some(pace) = &mut self.pace {
            let begun = *pace.begun.get_or_insert(now);
            while pace.after(begun, pace.chunks) <= now {
                pace.chunks += 1;
                pace.waiting += pace.chunk;
            }
        }
    }

    /// Bytes that it can write; `u64::MAX` if there is no end.
    pub fn ready(&self) -> u64 {
        let left = self.left.unwrap_or(u64::MAX);
        self.pace.as_ref().map_or(left, |pace| left.min(pace.waiting))
    }

    /// The stream has taken so many.
    pub fn wrote(&mut self, bytes: u64) {
        self.left = self.left.map(|left| left - bytes);
        if let Some(pace) = &mut self.pace {
            pace.waiting -= bytes;
        }
    }

    /// It writes no more.
    pub fn stop(&mut self) {
        self.left = Some(0);
    }

    /// Has it written all?
    pub fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// When it will have more data.
    pub fn next(&self) -> Time {
        match &self.pace {
            Some(pace) if !self.is_done() => pace.begun.map_or(Time::NEVER, |begun| pace.after(begun, pace.chunks)),
            _ => Time::NEVER,
        }
    }
}

impl Pace {
    /// When it has the chunk after so many. Each time is of the beginning, so that no rounding adds up.
    fn after(&self, begun: Time, chunks: u64) -> Time {
        let bits = u128::from(chunks) * u128::from(self.chunk) * 8;
        let nanoseconds = (bits * 1_000_000_000).div_ceil(u128::from(self.rate.0));
        u64::try_from(nanoseconds).map_or(Time::NEVER, |ns| begun + Dur(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_any_time() {
        // 1000 bytes at 3 Mbit/s: one every 2.666... ms.
        let mut app = Application::new(None, Some(Rate(3_000_000)), 1000);
        app.advance(Time(500));
        assert_eq!((app.ready(), app.next()), (1000, Time(2_666_667 + 500)));
        app.wrote(1000);
        assert_eq!(app.ready(), 0);
        app.advance(Time(2_666_667 + 499));
        assert_eq!(app.ready(), 0);
        app.advance(Time(8_000_500));
        assert_eq!((app.ready(), app.next()), (3000, Time(10_666_667 + 500)));
    }

    #[test]
    fn a_size_ends_it() {
        let mut app = Application::new(Some(1500), Some(Rate(8_000)), 1000);
        app.advance(Time(0));
        app.wrote(app.ready());
        app.advance(Time(1_000_000_000));
        assert_eq!(app.ready(), 500);
        app.wrote(500);
        assert!(app.is_done());
        assert_eq!(app.next(), Time::NEVER);
    }
}
