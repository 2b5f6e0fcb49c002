//! The shared library's name for programs that were linked with it: one for each minor version, until 1.0.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let soname = concat!("libmarqueue.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    if cfg!(target_os = "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    }
}
