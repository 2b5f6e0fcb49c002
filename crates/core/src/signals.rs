//! The packet header by which routers send prices to the sender of a flow (MKC).
//!
//! Zhang, Kang and Loguinov, "Delayed stability and performance of distributed congestion control",
//! SIGCOMM 2004, section 6.1 and Figure 9: 16 bytes that routers write, and 4 for the sender alone. The
//! receiver sends all of it back.
//!
//! Departure: the router field of a header selects how the prices of several routers combine. The paper's flows use
//! that of the most congested router; classic Kelly control (its equation (8)) uses the sum.

/// The price of one router: the router's part of the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// The router.
    pub router: u32,
    /// Number of prices that it has computed so far, including this one.
    pub seq: u32,
    /// The price p: its estimate of loss, negative where there is room.
    pub p: f32,
    /// The interval over which it was measured, s.
    pub delta: f32,
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// The combined price of the routers passed so far.
    pub price: Price,
    /// The sender's own field, returned unchanged.
    pub usr: u32,
}

impl Signals {
    /// Bytes on the wire.
    pub const BYTES: u32 = 20;
    /// The router of a header that no router has written to yet.
    const NO_ROUTER: u32 = u32::MAX;
    /// The router of a header to which each router adds its price.
    const ALL_ROUTERS: u32 = u32::MAX - 1;

    /// A header that collects the highest price on the path.
    pub fn for_max_price(usr: u32) -> Signals {
        let price = Price { router: Signals::NO_ROUTER, seq: 0, p: f32::NEG_INFINITY, delta: 0.0 };
        Signals { price, usr }
    }

    /// A header that collects the sum of all prices on the path. Its `seq` is the sum and its `delta` the maximum of
    /// theirs.
    pub fn for_price_sum(usr: u32) -> Signals {
        Signals { price: Price { router: Signals::ALL_ROUTERS, seq: 0, p: 0.0, delta: 0.0 }, usr }
    }

    /// A router adds its price.
    pub fn add_price(&mut self, reported: Price) {
        let price = &mut self.price;
        if price.router == Signals::ALL_ROUTERS {
            price.seq = price.seq.wrapping_add(reported.seq);
            price.p += reported.p;
            price.delta = price.delta.max(reported.delta);
        } else if reported.p > price.p {
            *price = reported;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(router: u32, seq: u32, p: f32) -> Price {
        Price { router, seq, p, delta: 0.05 * router as f32 }
    }

    #[test]
    fn the_header_has_the_declared_length() {
        assert_eq!(core::mem::size_of::<Signals>(), Signals::BYTES as usize);
    }

    #[test]
    fn the_highest_price_replaces_lower_ones() {
        let mut signals = Signals::for_max_price(7);
        signals.add_price(price(1, 10, -3.0));
        signals.add_price(price(2, 4, -0.5));
        signals.add_price(price(3, 8, -0.5));
        assert_eq!(signals, Signals { price: price(2, 4, -0.5), usr: 7 });
    }

    #[test]
    fn prices_add_up_in_a_header_for_sums() {
        let mut signals = Signals::for_price_sum(7);
        signals.add_price(price(1, 10, -3.0));
        signals.add_price(price(2, 4, 0.5));
        let Price { seq, p, delta, .. } = signals.price;
        assert_eq!((seq, p, delta), (14, -2.5, 0.1));
    }
}
