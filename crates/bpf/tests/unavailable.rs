//! The messages of a build without the programs. `make test-rust` builds this crate alone without them.
#![cfg(not(programs))]

use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::Law;
use marqueue_bpf::avq::AvqParams;
use marqueue_bpf::{attachment, dctcp, Hook};

#[test]
fn every_function_returns_what_is_missing() {
    let law = Law::Avq(AvqParams::new(1_000_000, 0.98, 0.15, 1.0, 10_000).expect("a law"));
    let missing = marqueue_bpf::missing().expect("the programs");
    assert!(missing.contains("install clang 15 or later, libelf-dev"), "{missing}");
    assert_eq!(attachment::attach(None, "lo", Hook::Egress, law, Signal::Ecn).unwrap_err().0, missing);
    assert_eq!(attachment::detach(None, "lo", Hook::Egress).unwrap_err().0, missing);
    assert_eq!(attachment::stats(None, "lo", Hook::Egress).unwrap_err().0, missing);
    assert_eq!(dctcp::Dctcp::register().unwrap_err().0, missing);
}
