//! What the generator itself needs for 40 `datacenter` tiles (320 VMs).

use anyhow::{Context, Result};

use super::{Figure, pairs, tilemark};

/// The disks are made small (1/4096 of their size): the figure is about the generator.
const FOOTPRINT: &str = "0.000244140625";

pub(crate) fn tiles_40(name: &str) -> Result<Vec<Figure>> {
    let directory = std::env::var("TILEMARK_BENCH_DIR").unwrap_or_else(|_| ".".to_owned());
    let out = pairs::scratch()?;
    let target = format!("dir:{directory}");
    let arguments = [
        target.as_str(),
        "--quick",
        "--tile",
        "datacenter",
        "--tiles",
        "40",
        "--footprint",
        FOOTPRINT,
        "--allow-root-fs",
        "--duration",
        "10s",
    ];
    let (json, cost) = tilemark::run_json(&arguments, &out)?;
    std::fs::remove_dir_all(&out)?;
    let step = &json["steps"][0];
    let rate = step["throughput"]["operations_per_s"].as_f64().context("throughput")?;
    let user = &step["generator"]["cpu_user_us_per_io"]["value"];
    let user_us = user.as_f64().context("generator.cpu_user_us_per_io")?;
    eprintln!("{name}: {rate:.0} IOPS, verdict {}", step["verdict"]);
    Ok(vec![
        Figure::new(format!("{name}.memory_mb"), cost.memory_bytes / 1e6, "MB"),
        Figure::new(format!("{name}.user_us_per_io"), user_us, "us"),
        Figure::new(format!("{name}.iops"), rate, "1/s"),
    ])
}
