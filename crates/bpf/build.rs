//! Compiles `c/*.bpf.c` for the kernel. If this fails, the crate is built without the programs and reports the reason.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(programs)");
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed=clang.sh");
    let without = if env::var_os("CARGO_FEATURE_KERNEL").is_none() {
        Some("it was built without the feature \"kernel\"".to_string())
    } else {
        match compiler() {
            Some(clang) => programs().iter().find_map(|(name, define)| compile(&clang, name, *define).err()),
            None => Some("clang 15 or later was missing when it was built".to_string()),
        }
    };
    match without {
        None => println!("cargo:rustc-cfg=programs"),
        Some(why) => println!("cargo:rustc-env=MARQUEUE_BPF_WITHOUT={why}"),
    }
}

/// The files `c/NAME.bpf.c`, each the name of its object. One that knows TEST_RUN, a qdisc, has another one for tests with
/// it defined.
fn programs() -> Vec<(String, Option<&'static str>)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir("c").expect("a folder").map(|each| each.expect("a file").path()).collect();
    files.sort();
    let mut programs = Vec::new();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".bpf.c"));
        let Some(name) = name else { continue };
        programs.push((name.to_string(), None));
        if fs::read_to_string(&file).expect("text").contains("#ifdef TEST_RUN") {
            programs.push((name.to_string(), Some("TEST_RUN")));
        }
    }
    programs
}

/// The command of a compiler that can do it.
fn compiler() -> Option<String> {
    let told = Command::new("./clang.sh").output().ok()?;
    String::from_utf8(told.stdout).ok().map(|name| name.trim().to_string()).filter(|name| !name.is_empty())
}

fn compile(clang: &str, name: &str, define: Option<&str>) -> Result<(), String> {
    let set = |variable| env::var_os(variable).expect("cargo sets it");
    let architecture = set("CARGO_CFG_TARGET_ARCH").into_string().expect("a name");
    let object =
        PathBuf::from(set("OUT_DIR")).join(format!("{name}{}.bpf.o", if define.is_some() { "_at" } else { "" }));
    let ran = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"])
        .args(define.map(|name| format!("-D{name}")))
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
        Err(error) => Err(format!("clang could not run when it was built ({clang}: {error})")),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().find(|line| line.contains("error")).unwrap_or("no message").to_string();
            println!("cargo:warning=c/{name}.bpf.c was not compiled: {first}");
            Err(format!("clang could not compile c/{name}.bpf.c when it was built ({first})"))
        }
        Ok(_) => Ok(()),
    }
}
