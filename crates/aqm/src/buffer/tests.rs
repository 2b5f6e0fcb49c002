//! Tests of draws, of removal, and of what is packed.

use super::*;
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest, Just, Strategy};

fn buffer(n: u32) -> Buffer {
    let mut buffer = Buffer::default();
    (0..n).for_each(|seq| buffer.push(Time(u64::from(seq)), Packet::data(0, seq, 100 + seq)));
    buffer
}

/// Counts of `n` draws by sequence number.
fn tally(buffer: &mut Buffer, rng: &mut Rng, n: u32, sequence_numbers: usize) -> Vec<u32> {
    let mut counts = vec![0; sequence_numbers];
    for _ in 0..n {
        counts[buffer.draw(rng).unwrap().packet.seq() as usize] += 1;
    }
    counts
}

/// The 0.1% points of the chi-square distribution.
const CHI_SQUARE: [(usize, f64); 3] = [(9, 27.88), (20, 45.31), (39, 72.05)];

fn assert_uniform(buffer: &mut Buffer, rng: &mut Rng, waiting: usize) {
    let draws = 2_000 * waiting as u32;
    let counts = tally(buffer, rng, draws, 200);
    let drawn: Vec<f64> = counts.into_iter().filter(|&c| c > 0).map(f64::from).collect();
    assert_eq!(drawn.len(), waiting, "only and all waiting packets");
    let chi: f64 = drawn.iter().map(|c| (c - 2e3).powi(2) / 2e3).sum();
    let (_, bound) = CHI_SQUARE.iter().find(|(degrees, _)| *degrees == waiting - 1).unwrap();
    assert!(chi < *bound, "{chi} with {waiting} packets and {} holes", buffer.holes());
}

#[test]
fn every_waiting_packet_is_drawn_equally_often() {
    let (mut buffer, mut rng) = (buffer(40), Rng::named(1, "draw"));
    assert_uniform(&mut buffer, &mut rng, 40);
    // Holes everywhere, as many as there may be.
    while buffer.len() > 21 {
        let drawn = buffer.draw(&mut rng).unwrap();
        buffer.take(drawn);
    }
    assert!(buffer.holes() > 10);
    assert_uniform(&mut buffer, &mut rng, 21);
    // And after some have left at the head and the tail, so that the ring has moved on.
    (0..7).for_each(|_| assert!(buffer.pop().is_some() && buffer.pop_last().is_some()));
    (0..3).for_each(|i| buffer.push(Time(0), Packet::data(0, 100 + i, 100)));
    assert_uniform(&mut buffer, &mut rng, 10);
}

#[test]
fn a_draw_by_size_hits_bytes_equally_often() {
    let (mut buffer, mut rng) = (buffer(40), Rng::named(3, "draw"));
    let mut counts = [0u32; 40];
    for _ in 0..80_000 {
        counts[buffer.draw_match_by_size(&mut rng, 150, 0, 1).unwrap().packet.seq() as usize] += 1;
    }
    // Packet i has 100 + i bytes, all have 4780.
    let expected = |seq: usize| 8e4 * (100 + seq) as f64 / 4780.0;
    let chi: f64 = counts.iter().enumerate().map(|(i, &c)| (f64::from(c) - expected(i)).powi(2) / expected(i)).sum();
    assert!(chi < 72.05, "{chi}");
}

#[test]
fn counting_sees_no_holes_and_has_the_chance_of_that_many_draws() {
    let (mut buffer, mut rng) = (Buffer::default(), Rng::named(4, "count"));
    // Of a hundred packets, ten of flow 0, thirty-eight of another flow are taken out: k = 10, n = 62.
    (0..100).for_each(|seq| buffer.push(Time(0), Packet::data(if seq % 10 == 0 { 0 } else { 1 }, seq, 100)));
    while buffer.len() > 62 {
        let drawn = buffer.draw(&mut rng).unwrap();
        if drawn.packet.flow() == 1 {
            buffer.take(drawn);
        }
    }
    assert_eq!(buffer.holes(), 38);
    let (n, mut counts) = (40_000, [0u32; 10]);
    for _ in 0..n {
        if let Some(drawn) = buffer.count_match(&mut rng, 0, 7) {
            assert_eq!(buffer.places[drawn.place].1.seq(), drawn.packet.seq());
            counts[drawn.packet.seq() as usize / 10] += 1;
        }
    }
    let (hits, p) = (f64::from(counts.iter().sum::<u32>()), 1.0 - (52.0f64 / 62.0).powi(7));
    let deviation = (f64::from(n) * p * (1.0 - p)).sqrt();
    assert!((hits - f64::from(n) * p).abs() < 5.0 * deviation, "{hits}");
    let chi: f64 = counts.iter().map(|&c| (f64::from(c) - hits / 10.0).powi(2) / (hits / 10.0)).sum();
    assert!(chi < 27.88, "{chi}");
    assert!(buffer.count_match(&mut rng, 2, u32::MAX).is_none());
}

#[derive(Clone, Debug)]
enum Op {
    Push,
    Pop,
    PopLast,
    Take,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![4 => Just(Op::Push), 2 => Just(Op::Pop), 1 => Just(Op::PopLast), 4 => Just(Op::Take)]
}

proptest! {
    #[test]
    fn behaves_like_a_list_with_removal(ops in proptest::collection::vec(op(), 1..400), start in 0u32..100) {
        let (mut buffer, mut rng) = (buffer(start), Rng::named(2, "draw"));
        let mut model: Vec<(Time, u32)> = (0..start).map(|seq| (Time(u64::from(seq)), seq)).collect();
        let mut seq = start;
        let entry = |(arrived, packet): (Time, Packet)| (arrived, packet.seq());
        for op in ops {
            match op {
                Op::Push => {
                    buffer.push(Time(u64::from(seq)), Packet::data(0, seq, 100 + seq));
                    model.push((Time(u64::from(seq)), seq));
                    seq += 1;
                }
                Op::Pop => {
                    let first = if model.is_empty() { None } else { Some(model.remove(0)) };
                    prop_assert_eq!(buffer.pop().map(entry), first);
                }
                Op::PopLast => prop_assert_eq!(buffer.pop_last().map(entry), model.pop()),
                Op::Take => match buffer.draw(&mut rng) {
                    None => prop_assert!(model.is_empty()),
                    Some(drawn) => {
                        let taken = buffer.take(drawn).seq();
                        let place = model.iter().position(|(_, seq)| *seq == taken);
                        prop_assert!(place.is_some(), "{} does not wait", taken);
                        model.remove(place.unwrap());
                    }
                },
            }
            prop_assert_eq!(buffer.len() as usize, model.len());
            prop_assert_eq!(buffer.is_empty(), model.is_empty());
            prop_assert_eq!(buffer.first().map(|(_, p)| p.seq()), model.first().map(|&(_, seq)| seq));
            prop_assert_eq!(buffer.bytes(), model.iter().map(|&(_, seq)| u64::from(100 + seq)).sum::<u64>());
            prop_assert!(2 * buffer.holes() <= buffer.places.len());
        }
    }

    #[test]
    fn very_many_packets_behave_like_a_list(
        ops in proptest::collection::vec(op(), 1..200), before in 0u32..40, draws in any::<bool>()
    ) {
        let most = Buffer::MOST_PLAIN;
        let start = most as u32 + 20 - before;
        let (mut buffer, mut rng) = (buffer(start), Rng::named(5, "draw"));
        let mut model: VecDeque<(Time, u32)> = (0..start).map(|seq| (Time(u64::from(seq)), seq)).collect();
        let entry = |(arrived, packet): (Time, Packet)| (arrived, packet.seq());
        let (mut seq, mut bytes) = (start, buffer.bytes());
        for op in ops {
            match op {
                Op::Push => {
                    buffer.push(Time(u64::from(seq)), Packet::data(0, seq, 100 + seq));
                    model.push_back((Time(u64::from(seq)), seq));
                    bytes += u64::from(100 + seq);
                    seq += 1;
                    prop_assert!(buffer.needs_places || buffer.packed.is_some() || model.len() <= most);
                }
                Op::Pop | Op::PopLast => {
                    let (found, expected) = match op {
                        Op::Pop => (buffer.pop(), model.pop_front()),
                        _ => (buffer.pop_last(), model.pop_back()),
                    };
                    bytes -= u64::from(100 + expected.unwrap().1);
                    prop_assert_eq!(found.map(entry), expected);
                }
                Op::Take if draws => {
                    let drawn = buffer.iter().nth(7).unwrap();
                    prop_assert_eq!(drawn.packet.seq(), model[7].1);
                    prop_assert!(buffer.draw(&mut rng).is_some());
                    bytes -= u64::from(buffer.take(drawn).bytes());
                    model.remove(7);
                }
                Op::Take => {}
            }
            prop_assert_eq!(buffer.len() as usize, model.len());
            prop_assert_eq!(buffer.bytes(), bytes);
            prop_assert_eq!(buffer.first().map(|(_, p)| p.seq()), model.front().map(|&(_, seq)| seq));
            let (now, arrived) = (Time(1 << 20), model[0].0);
            prop_assert_eq!(buffer.age(now), now - arrived);
        }
        prop_assert!(buffer.iter().map(|drawn| drawn.packet.seq()).eq(model.iter().map(|&(_, seq)| seq)));
        while let Some(found) = buffer.pop() {
            prop_assert_eq!(Some(entry(found)), model.pop_front());
        }
        prop_assert!(buffer.is_empty() && model.is_empty() && buffer.bytes() == 0);
    }
}
