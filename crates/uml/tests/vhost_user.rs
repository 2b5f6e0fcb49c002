//! Messages of a network device that no kernel sends: each is refused, and none is followed.

use marqueue_uml::vhost_user::Device;
use std::io::Write;
use std::os::unix::net::UnixStream;

/// What the device says to a message with this number, length and payload; the guest then hangs up.
fn refused(number: u32, size: u32, payload: &[u8]) -> Option<String> {
    let (mut guest, ours) = UnixStream::pair().expect("a pair of sockets");
    let header: Vec<u8> = [number, 1, size].iter().flat_map(|word| word.to_ne_bytes()).collect();
    guest.write_all(&[&header, payload].concat()).expect("written");
    drop(guest);
    Device::new(ours, [2, 0, 0, 0, 0, 0]).serve().err().map(|fault| fault.0)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn a_message_with_a_wrong_size_is_refused() {
    assert_eq!(refused(8, 513, &[0; 513]).as_deref(), Some("its network device sends a message of 513 bytes"));
    assert!(refused(8, u32::MAX, &[]).expect("refused").ends_with("4294967295 bytes"));
    // Less than it announces, and less than its number asks for.
    assert_eq!(refused(8, 8, &[0; 7]).as_deref(), Some("it has ended"));
    for (number, size) in [(5, 0), (8, 4), (9, 31), (10, 7), (18, 0), (24, 7), (35, 3)] {
        let said = refused(number, size, &vec![0; size as usize]).expect("refused");
        assert_eq!(said, format!("message {number} of its network device is too short"));
    }
}

#[test]
fn a_message_with_values_that_there_are_not_is_refused_or_for_no_ring() {
    for size in [0, 3, 65_536, u32::MAX] {
        let said = refused(8, 8, &words(&[0, size])).expect("refused");
        assert_eq!(said, format!("its network device has a ring of {size} descriptors"));
    }
    for ring in [2, 3, u32::MAX] {
        assert_eq!(refused(8, 8, &words(&[ring, 65_536])), None, "ring {ring}");
    }
    // Regions of memory without files, more of them than there may be, and no file for interrupts.
    for count in [1, 9, u32::MAX] {
        let said = refused(5, 8, &words(&[count, 0])).expect("refused");
        assert_eq!(said, format!("its network device has {count} regions of memory"));
    }
    assert!(refused(21, 0, &[]).is_some());
    // Settings beyond their end, and a message that there is not.
    for (offset, size) in [(60, 5), (u32::MAX, 1), (0, u32::MAX)] {
        assert!(refused(24, 12, &words(&[offset, size, 0])).is_some(), "{size} bytes at {offset}");
    }
    assert!(refused(99, 0, &[]).expect("refused").contains("99"));
}
