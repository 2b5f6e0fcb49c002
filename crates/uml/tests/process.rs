//! What a guest's process has from the simulator.

use marqueue_uml::process::{GuestProcess, PrivateDirectory};
use std::path::Path;

#[test]
fn addresses_of_a_guest_are_the_same_in_each_run() {
    let directory = PrivateDirectory::new().unwrap();
    let arguments = ["/proc/self/personality".to_string()];
    let mut process = GuestProcess::start(Path::new("/bin/cat"), &arguments, directory.path(), "console").unwrap();
    while process.ends().is_none() {}
    let lines = process.last_lines();
    let personality = u32::from_str_radix(&lines[0], 16).unwrap();
    // ADDR_NO_RANDOMIZE of personality(2).
    assert_eq!(personality & 0x0004_0000, 0x0004_0000, "{lines:?}");
}
