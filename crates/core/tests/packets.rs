//! A packet keeps each of its parts, whatever the others are.

use marqueue_core::{Dscp, Ecn, Flags, Head, Packet};
use proptest::prelude::*;

const ALL: [Flags; 7] =
    [Flags::ACK, Flags::SYN, Flags::ECE, Flags::CWR, Flags::RETRANSMIT, Flags::ANSWERS_CE, Flags::SIGNALS];

proptest! {
    #[test]
    fn every_part_is_read_back_as_it_was_written(
        flow: u32, seq: u32, bytes: u32, options: u32, stage: u32, class: u8, dscp in 0u8..64, chosen in 0usize..7,
    ) {
        let dscp = Dscp::from_bits(dscp);
        let head = Head::new(dscp, class).with(ALL[chosen]).with_ecn(Ecn::Ect0);
        let packet = Packet::data(0, seq, 1)
            .with_flow(flow).with_bytes(bytes).with_options(options).with_stage(stage).with_head(head);
        prop_assert_eq!((packet.flow(), packet.seq()), (flow, seq));
        prop_assert_eq!((packet.bytes(), packet.options(), packet.stage()), (bytes, options, stage));
        prop_assert_eq!((packet.dscp(), packet.class(), packet.ecn()), (dscp, class, Ecn::Ect0));
        prop_assert_eq!(packet.head(), head);
        for flag in ALL {
            prop_assert_eq!(packet.has(flag), flag == ALL[chosen]);
        }
        // A part that is written again replaces what was there, and only that.
        let other = packet.with_flow(!flow).with_bytes(!bytes).with_options(!options).with_stage(!stage)
            .with_ecn(Ecn::Ce);
        prop_assert_eq!((other.flow(), other.seq(), other.bytes()), (!flow, seq, !bytes));
        prop_assert_eq!((other.options(), other.stage(), other.ecn()), (!options, !stage, Ecn::Ce));
        prop_assert_eq!(other.head(), head.with_ecn(Ecn::Ce));
    }
}

#[test]
fn new_data_has_no_flag_no_options_and_is_not_ecn_capable() {
    let packet = Packet::data(7, 11, 1000);
    assert_eq!((packet.flow(), packet.seq(), packet.bytes()), (7, 11, 1000));
    assert_eq!((packet.options(), packet.stage()), (Packet::NO_OPTIONS, 0));
    assert_eq!((packet.ecn(), packet.dscp(), packet.class()), (Ecn::NotEct, Dscp::default(), 0));
    assert!(ALL.iter().all(|&flag| !packet.has(flag)));
}

#[test]
fn flags_are_sets() {
    let both = Flags::ACK | Flags::ECE;
    assert!(both.has(Flags::ACK) && both.has(Flags::ECE) && both.has(both) && both.has(Flags::NONE));
    assert!(!both.has(Flags::SYN) && !both.has(Flags::ACK | Flags::SYN));
    assert_eq!(both & (Flags::ECE | Flags::CWR), Flags::ECE);
    assert_eq!(both & Flags::CWR, Flags::NONE);
    assert_eq!(both | both, both);
    let mut all = Flags::NONE;
    for flag in ALL {
        assert!(!all.has(flag), "two flags share a bit");
        all |= flag;
        assert!(all.has(flag));
    }
    // A flag that is set twice stays set.
    let head = Head::new(Dscp::default(), 0).with(Flags::ACK).with(both);
    assert_eq!(head.flags(), both);
}
