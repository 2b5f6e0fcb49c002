//! Compiles `c/*.bpf.c` for the kernel. If this fails, the crate is built without the programs and reports the reason.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 6] = ["avq", "red", "pi", "scaled", "mkc", "dctcp"];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(programs)");
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-env-changed=CLANG");
    let without = if env::var_os("CARGO_FEATURE_KERNEL").is_none() {
        Some("it was built without the feature \"kernel\"".to_string())
    } else {
        PROGRAMS.iter().find_map(|name| compile(name).err())
    };
    match without {
        None => println!("cargo:rustc-cfg=programs"),
        Some(why) => println!("cargo:rustc-env=MARQUEUE_BPF_WITHOUT={why}"),
    }
}

fn compile(name: &str) -> Result<(), String> {
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let set = |variable| env::var_os(variable).expect("cargo sets it");
    let architecture = set("CARGO_CFG_TARGET_ARCH").into_string().expect("a name");
    let object = PathBuf::from(set("OUT_DIR")).join(format!("{name}.bpf.o"));
    let ran = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"])
        .arg("-I")
        .arg(set("DEP_BPF_INCLUDE"))
        // Debian has <asm/types.h> here, where compilers for BPF do not look.
        .args(["-idirafter", &format!("/usr/include/{architecture}-linux-gnu")])
        .arg("-c")
        .arg(format!("c/{name}.bpf.c"))
        .arg("-o")
        .arg(object)
        .output();
    match ran {
        Err(error) => Err(format!("clang was missing when it was built ({}: {error})", clang.to_string_lossy())),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().find(|line| line.contains("error")).unwrap_or("no message").to_string();
            println!("cargo:warning=c/{name}.bpf.c was not compiled: {first}");
            Err(format!("clang could not compile c/{name}.bpf.c when it was built ({first})"))
        }
        Ok(_) => Ok(()),
    }
}
