//! `cargo xtask generate-run DIR`: writes a synthetic run, for tests of pages and reports.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use bench::run::sample;
use bench::sample::SampleOptions;
use units::Nanos;

const USAGE: &str = "usage: cargo xtask generate-run DIR [--tiles 100] [--hours 3] [--slice 10s] \
                     [--seed 1] [--tile datacenter] [--empty]\n\
                     makes DIR/20261122T080000Z-TILE-sample; --empty: nobody does any I/O";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let Some(options) = options(arguments)? else {
        eprintln!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    let finished = sample(&options, None)?;
    eprintln!("{}: {}", finished.directory.display(), finished.run.answer.sentence);
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &[String]) -> Result<Option<SampleOptions>> {
    let mut options = SampleOptions {
        base: PathBuf::new(),
        tile: "datacenter".to_owned(),
        tiles: 100,
        time: Nanos::from_secs(3 * 3600),
        slice: Nanos::from_secs(10),
        seed: 1,
        is_empty: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--tiles" => options.tiles = value()?.parse()?,
            "--hours" => options.time = Nanos::from_secs_f64(value()?.parse::<f64>()? * 3600.0),
            "--slice" => {
                let text = value()?;
                options.slice = text.parse().with_context(|| format!("\"{text}\" is no time"))?;
            }
            "--seed" => options.seed = value()?.parse()?,
            "--tile" => options.tile.clone_from(value()?),
            "--empty" => options.is_empty = true,
            flag if flag.starts_with('-') => bail!("there is no option {flag}\n{USAGE}"),
            base => options.base = base.into(),
        }
    }
    let is_whole = options.tiles > 0 && !options.base.as_os_str().is_empty();
    Ok(is_whole.then_some(options))
}
