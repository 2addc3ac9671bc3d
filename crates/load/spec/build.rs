//! Embeds the files under `data/studies/` in the program, so that a new study needs no Rust code.
//! Writes a list of names and `include_str!`s that `src/shipped.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let crate_folder =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = crate_folder.join("../../../data/studies");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(&folder, "", &mut files);
    files.sort();
    let mut text = String::from("&[\n");
    for (name, path) in files {
        writeln!(text, "Shipped {{ name: {name:?}, text: include_str!({path:?}) }},")
            .expect("a text grows");
    }
    text.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("studies.rs"), text).expect("the build directory is writable");
}

/// Collects all definition files below a folder, with their paths relative to `data/studies/`.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("reading {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the directory can be listed").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else if name.ends_with(".toml") {
            files.push((format!("{prefix}{name}"), path.canonicalize().expect("it was listed")));
        }
    }
}
