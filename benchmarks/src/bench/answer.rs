//! Measures how often the interval of an answer contains the truth, and how far answers lie apart.
//!
//! `answer.lab`: quick runs on a file system that answers at the same times as a modelled array, in
//! real time, so that the true edge is known from the same array in virtual time. `answer.disk`:
//! quick runs on this host's disk, whose true edge is unknown; each run is compared with the median
//! of the others. `TILEMARK_BENCH_RUNS` sets the number of runs of each, ten by default; a run
//! takes five minutes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Figure, median, pairs, tilemark};

/// Array of four disks without any memory.
const ARRAY: &str = r#"
name = "four-disks"
title = "Four disks of 7,200 rpm"
source = "Made up for a figure."

[[pool]]
name = "disks"
disk = "hdd-7200"
count = 4
"#;

/// Reads that arrive at random, independently of earlier ones.
const WORKLOAD: &str = r#"
name = "arrivals"
title = "Reads that arrive at random"
source = "Made up for a figure."

[metric]
unit = "IOPS"
count = "io"
reference = 60

[[vm]]
name = "vm"

[[vm.disk]]
name = "data"
size = "16GiB"

[[users]]
name = "users"
vm = "vm"
load = { open = { rate = "60/s" } }

[[action]]
name = "read"
steps = [{ read = { disk = "data", size = "8k" } }]

[[limit]]
action = "read"
percentile = 95
limit = "100ms"
source = "Made up for a figure."
"#;

const TILE: &str = "name = \"arrivals\"\ntitle = \"Arrivals\"\nsource = \"Made up.\"\n\
                    [[workload]]\nuse = \"arrivals.toml\"\n";

/// Share of the tile's size for both kinds of run: a virtual disk of 64 MiB, a slot of the lab
/// (`lab::space`).
// Smaller virtual disks lie further apart in the lab than in virtual time, and arms have further to
// go.
const FOOTPRINT: &str = "0.00390625";

/// Number of tiles that one run found, with its interval.
#[derive(Debug)]
struct Answered {
    /// Most likely number of tiles.
    likely: Option<f64>,
    low: f64,
    high: f64,
}

fn runs() -> u32 {
    std::env::var("TILEMARK_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// Runs the released binary and reads its result. An inconclusive result also counts.
fn ask(arguments: &[&str], seed: u32, out: &Path) -> Result<(Answered, Value)> {
    let mut command = Command::new(tilemark::binary()?);
    command.args(arguments).args(["--seed", &seed.to_string(), "--format", "json"]);
    command.args(["--live", "off", "--out"]).arg(out).current_dir(out);
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = || String::from_utf8_lossy(&output.stderr).into_owned();
    let json: Value = serde_json::from_str(&text).with_context(failed)?;
    let answer = &json["answer"];
    eprintln!("answer: {}", answer["sentence"].as_str().unwrap_or("no answer"));
    let interval = &answer["tiles_interval"];
    let answered = Answered {
        likely: interval["most_likely"].as_f64().or_else(|| answer["tiles_held"].as_f64()),
        low: interval["low"].as_f64().unwrap_or(0.0),
        // An interval that is open, or none at all, excludes nothing.
        high: interval["high"].as_f64().unwrap_or(f64::INFINITY),
    };
    Ok((answered, json))
}

/// Runs on a lab, compared with the same array in virtual time.
pub(crate) fn lab(name: &str) -> Result<Vec<Figure>> {
    let out = pairs::scratch()?;
    for (file, text) in [("array.toml", ARRAY), ("arrivals.toml", WORKLOAD), ("tile.toml", TILE)] {
        std::fs::write(out.join(file), text)?;
    }
    let same = ["--tile", "./tile.toml", "--quick", "--footprint", FOOTPRINT];
    let longer = ["--array", "./array.toml", "--duration", "120s", "--repeats", "5"];
    let (truth, _) = ask(&[&["simulate"][..], &longer, &same].concat(), 99, &out)?;
    let truth = truth.likely.context("the true edge in virtual time")?;
    eprintln!("{name}: the array holds {truth} tiles in virtual time");
    let array = spec::load_array("array.toml", ARRAY).context("the array")?;
    let mut all = Vec::new();
    for seed in 1..=runs() {
        let mounted = lab::Mounted::temporary(&lab::Options::new(array.clone()))?;
        let place = format!("dir:{}", mounted.point().display());
        let words = ["run", place.as_str(), "--allow-root-fs"];
        all.push(ask(&[&words[..], &same].concat(), seed, &out)?.0);
        let lateness = mounted.report().lateness;
        eprintln!("{name}: answers of the lab were late: {lateness:?}");
        mounted.unmount()?;
    }
    std::fs::remove_dir_all(&out)?;
    figures(name, &all, |_| truth)
}

/// Runs on this host's disk. Each run is compared with the median of the others.
pub(crate) fn disk(name: &str) -> Result<Vec<Figure>> {
    let directory = std::env::var("TILEMARK_BENCH_DIR").unwrap_or_else(|_| ".".to_owned());
    let place = format!("dir:{}", std::path::absolute(directory)?.display());
    let out = pairs::scratch()?;
    let words = ["run", place.as_str(), "--quick", "--allow-root-fs", "--allow-same-device"];
    let all: Result<Vec<Answered>> =
        (1..=runs()).map(|seed| Ok(ask(&words, seed, &out)?.0)).collect();
    let all = all?;
    std::fs::remove_dir_all(&out)?;
    let others = |own: usize| {
        let others = all.iter().enumerate().filter(|(at, _)| *at != own);
        median(&others.filter_map(|(_, answer)| answer.likely).collect::<Vec<_>>())
    };
    figures(name, &all, others)
}

fn figures(name: &str, all: &[Answered], truth: impl Fn(usize) -> f64) -> Result<Vec<Figure>> {
    let held: Vec<f64> = all.iter().filter_map(|answer| answer.likely).collect();
    ensure!(held.len() > 1, "fewer than two runs had an answer");
    let holds = |(at, answer): &(usize, &Answered)| {
        let truth = truth(*at);
        answer.likely.is_some() && answer.low <= truth && truth <= answer.high
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
    let share = all.iter().enumerate().filter(holds).count() as f64 / all.len() as f64;
    let most = held.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = held.iter().copied().fold(f64::INFINITY, f64::min);
    let spread = (most - least) / 2.0 / median(&held) * 100.0;
    #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
    let answered = held.len() as f64 / all.len() as f64;
    Ok(vec![
        Figure::new(format!("{name}.coverage"), share, ""),
        Figure::new(format!("{name}.spread_percent"), spread, "%"),
        Figure::new(format!("{name}.tiles_median"), median(&held), "tiles"),
        Figure::new(format!("{name}.answered"), answered, ""),
    ])
}
