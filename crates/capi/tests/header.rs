//! The header that C programs include is the one that cbindgen writes. `UPDATE=1` writes it again.
#![allow(clippy::disallowed_methods, reason = "where the crate is, and whether to write")]

use std::path::Path;

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let sources = ["failure", "config", "queue"].map(|name| here.join(format!("src/{name}.rs")));
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |b, source| b.with_src(source));
    let mut written = Vec::new();
    builder.generate().unwrap().write(&mut written);
    let header = here.join("include/marqueue.h");
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&header, &written).unwrap();
    }
    let found = std::fs::read_to_string(header).unwrap_or_default();
    assert!(found.as_bytes() == written, "include/marqueue.h is not what cbindgen writes: run `make header`");
}
