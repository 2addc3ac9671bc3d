//! Records in the program the commit, compiler and options of the build.
//!
//! `TILEMARK_COMMIT` wins, for package builds from sources without a repository. Otherwise git is
//! asked, and an unknown value is left out. Sources that differ from the commit are marked
//! `-dirty`, so two builds of one commit carry the same words.

use std::path::Path;
use std::process::Command;

/// Root of the sources, relative to this crate.
const SOURCES: &str = "../../..";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TILEMARK_COMMIT");
    let named = std::env::var("TILEMARK_COMMIT").ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = named.or_else(committed) {
        println!("cargo::rustc-env=TILEMARK_COMMIT={commit}");
    }
    for (name, from) in [
        ("TILEMARK_TARGET", "TARGET"),
        ("TILEMARK_PROFILE", "PROFILE"),
        ("TILEMARK_RUSTC", "RUSTC"),
    ] {
        let value = std::env::var(from).unwrap_or_default();
        let value = if from == "RUSTC" { said(Command::new(value).arg("-V")) } else { Some(value) };
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
}

/// Returns the commit that git has checked out, with `-dirty` if the sources differ from it.
fn committed() -> Option<String> {
    let git = |args: &[&str]| said(Command::new("git").args(args).current_dir(SOURCES));
    // A directory unpacked inside another project's repository does not belong to that repository.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(SOURCES).canonicalize().ok()? {
        return None;
    }
    let head = git(&["rev-parse", "HEAD"])?;
    watch(&git);
    let changes = git(&["status", "--porcelain", "--untracked-files=no"]);
    Some(if changes.is_none() { head } else { format!("{head}-dirty") })
}

/// Makes cargo run this script again after a commit and after a change of the program's sources.
fn watch(git: &impl Fn(&[&str]) -> Option<String>) {
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    let refs = [Some("HEAD".to_owned()), branch, Some("packed-refs".to_owned())];
    for name in refs.into_iter().flatten() {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", &name]);
        // Cargo would run this script on every build if it named an absent file.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let entries = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let crates =
        entries(Path::new(SOURCES).join("crates")).flat_map(|folder| entries(folder.path()));
    // Folders hold a README beside their crates. Cargo would run this script on every build if it
    // named an absent file.
    for sources in crates.map(|entry| entry.path().join("src")).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", sources.display());
    }
    for name in ["Cargo.lock", "Cargo.toml", "data"] {
        println!("cargo::rerun-if-changed={SOURCES}/{name}");
    }
}

/// Runs a command and returns its trimmed output; `None` if it fails or prints nothing.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
