//! An initramfs: the guest's files as a newc archive (Documentation/driver-api/early-userspace/buffer-format.rst).

/// A file of the archive.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Path without the leading slash.
    pub path: &'a str,
    /// Contents; `None` for a directory.
    pub contents: Option<&'a [u8]>,
}

/// The archive of these files, in this order.
pub fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let mode = if entry.contents.is_some() { 0o100_755 } else { 0o040_755 };
        add(&mut out, number as u32 + 1, entry.path, mode, entry.contents.unwrap_or(&[]));
    }
    add(&mut out, 0, "TRAILER!!!", 0, &[]);
    out
}

fn add(out: &mut Vec<u8>, inode: u32, path: &str, mode: u32, contents: &[u8]) {
    let (size, name) = (contents.len() as u32, path.len() as u32 + 1);
    out.extend(b"070701");
    // Inode, mode, user, group, links, time, size, device, special device, length of the name, no checksum.
    for field in [inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0] {
        out.extend(format!("{field:08x}").as_bytes());
    }
    out.extend(path.as_bytes());
    out.push(0);
    pad(out);
    out.extend(contents);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
