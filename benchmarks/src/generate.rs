//! `cargo xtask generate DIR [RECORDS [SEED]]`: writes a synthetic trace, for measuring by hand.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use trace::generate::{Generator, Recipe};
use trace::store::{self, Options};

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let Some(target) = arguments.first() else {
        eprintln!("usage: cargo xtask generate NAME.tmt [RECORDS [SEED]]");
        return Ok(ExitCode::from(2));
    };
    let number = |position: usize, default: u64| match arguments.get(position) {
        Some(text) => text.parse().with_context(|| format!("\"{text}\" is no whole number")),
        None => Ok(default),
    };
    let default = Recipe::default();
    let (records, seed) = (number(1, default.records)?, number(2, default.seed)?);
    let recipe = Recipe { records, seed, ..default };
    let written = store::save(&mut Generator::new(&recipe), Path::new(target), Options::default())?;
    eprintln!("{} I/Os in {} files, {} B", written.records, written.parts, written.bytes);
    Ok(ExitCode::SUCCESS)
}
