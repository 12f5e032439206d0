//! Compiles the C that the kernel runs: as a native library for the tests, and, with the feature `datapath`, for the
//! kernel itself.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    cc::Build::new().file("bpf/native.c").flag("-Wall").flag("-Wextra").compile("spinewise_edge");
    if env::var_os("CARGO_FEATURE_DATAPATH").is_some() {
        for name in ["edge", "mark"] {
            object(name);
        }
    }
}

/// Compiles one program for the kernel.
fn object(name: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(format!("{name}.o"));
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target");
    let headers = format!("/usr/include/{arch}-linux-gnu");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    // libbpf's own headers come with the crate that has its sources.
    let libbpf = env::var("DEP_BPF_INCLUDE").unwrap_or_default();
    let mut command = Command::new(&clang);
    command.args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Werror"]);
    for folder in [libbpf.as_str(), headers.as_str()].iter().filter(|folder| Path::new(folder).is_dir()) {
        command.arg("-I").arg(folder);
    }
    command.arg("-c").arg(format!("bpf/{name}.bpf.c")).arg("-o").arg(&out);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{clang} could not compile bpf/{name}.bpf.c ({status})"),
        Err(error) => panic!("the feature `datapath` needs clang ({clang}: {error}): apt-get install clang"),
    }
}
