//! Huge pages for large memory that is read at random.
//!
//! A processor remembers where some thousand pages are. With pages of 4 KiB that is a few MiB, and beyond them each
//! access first looks up its page, which takes as long as a cache miss or longer. Pages of 2 MiB avoid that.
//!
//! This crate has no other purpose than to keep its one unsafe call apart from the simulator. No library that was
//! found advises memory that it has not mapped itself.
#![allow(unsafe_code, reason = "advice on memory has no safe form, because some of it discards content")]

use std::mem::MaybeUninit;

/// Asks the system to use huge pages for this memory: `Vec::spare_capacity_mut` of a new vector. What has been written
/// before stays in its pages. Where there are no huge pages, or where the system decides by itself, nothing happens.
pub fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{madvise, Advice};
        let page = rustix::param::page_size();
        let start = memory.as_mut_ptr().cast::<u8>();
        let lead = start.align_offset(page);
        let Some(length) = size_of_val(memory).checked_sub(lead) else { return };
        let whole = length - length % page;
        if whole > 0 {
            // SAFETY: this advice changes no content, and the pages are within memory that the caller borrows.
            let _ = unsafe { madvise(start.wrapping_add(lead).cast(), whole, Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Has the mapping that this address is in been advised?
    fn is_advised(address: usize) -> bool {
        let text = fs::read_to_string("/proc/self/smaps").expect("Linux says what is mapped");
        let mut within = false;
        for line in text.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let ends = range.and_then(|(from, to)| {
                Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
            });
            if let Some((from, to)) = ends {
                within = (from..to).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| within) {
                return flags.split_whitespace().any(|flag| flag == "hg");
            }
        }
        panic!("{address:x} is mapped");
    }

    #[test]
    fn memory_is_advised_and_stays_as_it_is() {
        let mut numbers: Vec<u64> = Vec::with_capacity(4 << 20);
        numbers.extend(0..100_000);
        ask_for_huge_pages(numbers.spare_capacity_mut());
        numbers.extend(100_000..200_000);
        assert!(numbers.iter().copied().eq(0..200_000));
        let middle = numbers.as_ptr() as usize + numbers.capacity() * size_of::<u64>() / 2;
        // A system without huge pages refuses.
        let there = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        assert_eq!(is_advised(middle), there);
    }

    #[test]
    fn memory_of_less_than_a_page_is_left_alone() {
        ask_for_huge_pages::<u64>(&mut []);
        ask_for_huge_pages(Vec::<u8>::with_capacity(100).spare_capacity_mut());
    }
}
