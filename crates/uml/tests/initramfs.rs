//! The archive of a guest's files, read as the kernel does (Documentation/driver-api/early-userspace/buffer-format.rst).

use marqueue_uml::initramfs::{archive, Entry};

/// Path, mode and contents of every entry before the trailer.
fn unpacked(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut files = Vec::new();
    let mut at = 0;
    loop {
        assert_eq!(&bytes[at..at + 6], b"070701");
        assert_eq!(at % 4, 0);
        let field = |number: usize| {
            let digits = std::str::from_utf8(&bytes[at + 6 + 8 * number..at + 14 + 8 * number]).expect("ASCII");
            u32::from_str_radix(digits, 16).expect("hexadecimal")
        };
        let (mode, size, name_length) = (field(1), field(6) as usize, field(11) as usize);
        let name = &bytes[at + 110..at + 110 + name_length];
        assert_eq!(name.last(), Some(&0));
        let name = String::from_utf8(name[..name_length - 1].to_vec()).expect("UTF-8");
        let start = (at + 110 + name_length).next_multiple_of(4);
        let end = start + size;
        at = end.next_multiple_of(4);
        if name == "TRAILER!!!" {
            assert_eq!((size, at), (0, bytes.len()));
            return files;
        }
        files.push((name, mode, bytes[start..end].to_vec()));
    }
}

#[test]
fn what_was_packed_is_unpacked_whatever_its_length() {
    let contents: Vec<Vec<u8>> = (0..9).map(|length| vec![b'x'; length]).collect();
    let paths: Vec<String> = (0..9).map(|length| format!("sbin/{}", "n".repeat(length + 1))).collect();
    let mut entries = vec![Entry { path: "sbin", contents: None }];
    entries.extend(paths.iter().zip(&contents).map(|(path, bytes)| Entry { path, contents: Some(bytes) }));
    let files = unpacked(&archive(&entries));
    assert_eq!(files[0], ("sbin".to_string(), 0o040_755, Vec::new()));
    for ((name, mode, bytes), (path, expected)) in files[1..].iter().zip(paths.iter().zip(&contents)) {
        assert_eq!((name, *mode, bytes), (path, 0o100_755, expected));
    }
    assert_eq!(files.len(), 10);
}
