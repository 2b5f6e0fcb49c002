//! Random streams: what a result depends on for ever.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_core::Rng;
use rand_core::RngCore;

/// FNV-1a (64 bits) of the path, as its authors define it, and SplitMix64 and xoshiro256++ as theirs do. A stream that
/// moves changes every result of the same scenario and seed.
#[test]
fn a_stream_is_xoshiro_seeded_by_seed_and_path() {
    fn splitmix(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    for (seed, path) in [(0u64, ""), (1, "traffic.web"), (u64::MAX, "queue \u{e9}")] {
        let hash = path.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut seeded = splitmix(&mut seed.clone()) ^ hash;
        let mut s = [0; 4].map(|_: u64| splitmix(&mut seeded));
        let mut stream = Rng::named(seed, path);
        for _ in 0..100 {
            let expected = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
            assert_eq!(stream.bits(), expected, "{path}");
            let t = s[1] << 17;
            s[2] ^= s[0];
            s[3] ^= s[1];
            s[1] ^= s[2];
            s[0] ^= s[3];
            s[2] ^= t;
            s[3] = s[3].rotate_left(45);
        }
    }
}

#[test]
fn distributions_of_other_crates_draw_from_the_same_stream() {
    let (mut a, mut b) = (Rng::named(1, "a"), Rng::named(1, "a"));
    let first = a.bits();
    assert_eq!(b.next_u64(), first);
    let mut bytes = [0; 8];
    b.fill_bytes(&mut bytes);
    assert_eq!(u64::from_le_bytes(bytes), a.bits());
    let words = [b.next_u32(), b.next_u32(), b.next_u32()];
    assert!(words[0] != words[1] && words[1] != words[2] && words.iter().all(|&word| word > 1), "{words:?}");
}

/// Without rejection, of 3 x 2^30 values a third would be drawn twice as often as the others.
#[test]
fn draws_below_a_large_bound_are_uniform() {
    let mut stream = Rng::named(1, "large");
    let n = 3u32 << 30;
    let draws = 30_000;
    let mut thirds = [0u32; 3];
    for _ in 0..draws {
        let draw = stream.below(n);
        assert!(draw < n);
        thirds[(draw % 3) as usize] += 1;
    }
    // Chi-square with 2 degrees of freedom: 0.1 % point 13.8.
    let expected = f64::from(draws) / 3.0;
    let chi: f64 = thirds.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
    assert!(chi < 13.8, "{thirds:?}");
}

#[test]
fn a_draw_below_one_is_zero() {
    let mut stream = Rng::named(1, "one");
    assert!((0..100).all(|_| stream.below(1) == 0));
}
