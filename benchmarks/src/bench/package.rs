//! Measures the output of `make package`: its size, and how soon its program answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Figure, median, pairs};

const PACKAGES: &str = "target/package";
/// Number of starts; the median is used.
const STARTS: usize = 31;

pub(crate) fn sizes(name: &str) -> Result<Vec<Figure>> {
    let megabytes = |end: &str| -> Result<f64> { Ok(bytes(&packed(end)?)? / 1e6) };
    let start_ms = start_ms(&packed("-linux-amd64.tar.gz")?)?;
    Ok(vec![
        Figure::new(format!("{name}.deb_mb"), megabytes("_amd64.deb")?, "MB"),
        Figure::new(format!("{name}.image_mb"), megabytes("-oci.tar")?, "MB"),
        Figure::new(format!("{name}.start_ms"), start_ms, "ms"),
    ])
}

/// Returns the only file of the package whose name has this ending.
fn packed(end: &str) -> Result<PathBuf> {
    let missing = || format!("{PACKAGES} has no file *{end}: make package");
    let entries = std::fs::read_dir(PACKAGES).with_context(missing)?;
    let is_it = |path: &PathBuf| path.to_string_lossy().ends_with(end);
    let found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_it).collect();
    ensure!(found.len() == 1, "{}; there are {}", missing(), found.len());
    Ok(found[0].clone())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn bytes(path: &Path) -> Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64)
}

/// Returns the time that `tilemark --version` of the program in the tarball takes, from its call to
/// its end.
fn start_ms(tarball: &Path) -> Result<f64> {
    let scratch = pairs::scratch()?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(tarball).arg("-C").arg(&scratch).args(["--strip-components", "1"]);
    ensure!(tar.status().context("tar")?.success(), "{} cannot be unpacked", tarball.display());
    let mut times = Vec::new();
    for start in 0..STARTS {
        let mut command = Command::new(scratch.join("bin/tilemark"));
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
        let begun = Instant::now();
        ensure!(command.status()?.success(), "the program of the package does not start");
        // The first reads it from the disk.
        if start > 0 {
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(median(&times))
}
