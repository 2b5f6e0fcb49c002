//! What a program of tc is told of a packet by BPF_PROG_TEST_RUN.

/// struct __sk_buff: queue and random number in cb, tstamp, wire_len, gso_segs, gso_size.
pub fn context(now: u64, bytes: u64, segments: u64, queue: u32, random: u32) -> [u8; 192] {
    let mut context = [0; 192];
    context[48..52].copy_from_slice(&queue.to_ne_bytes());
    context[52..56].copy_from_slice(&random.to_ne_bytes());
    context[152..160].copy_from_slice(&now.to_ne_bytes());
    context[160..164].copy_from_slice(&(bytes as u32).to_ne_bytes());
    if segments > 1 {
        context[164..168].copy_from_slice(&(segments as u32).to_ne_bytes());
        context[176..180].copy_from_slice(&1448u32.to_ne_bytes());
    }
    context
}
