//! Options that `run` and `simulate` share.

use std::path::PathBuf;

use clap::Args;
use run_store::run::tag;
use spec::plan::Plan;
use spec::{Answering, ServiceModelError};

/// Thoroughness, load and name of a run.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Tile of an estate, made by tilemark estate import
    ///
    /// The directory, or a file in it. The answer is also given in VMs of the estate. Example:
    /// --estate estate
    #[arg(long, value_name = "DIR", conflicts_with = "tile", display_order = 21)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    pub estate: Option<PathBuf>,
    /// Keep the disk sizes of the tile: --footprint 1
    #[arg(long, conflicts_with = "footprint", display_order = 27)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    pub full_size: bool,
    /// A name for the run, beside its id
    ///
    /// Several runs may share a name. tilemark runs --name lists them.
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "What it is called")]
    pub name: Option<String>,
    /// A tag of the run, KEY=VALUE; repeat for more
    ///
    /// tilemark runs --tag KEY=VALUE lists the runs with a tag; tilemark compare takes
    /// tag:KEY=VALUE for all of them. Example: --tag branch=main
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    #[arg(hide_short_help = true, help_heading = "What it is called")]
    pub tags: Vec<(String, String)>,
    /// A sentence about the run
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = "What it is called")]
    pub note: Option<String>,
    #[command(flatten)]
    pub plan: Plan,
}

/// Parses `NAME=FILE` or `NAME=env:VARIABLE`: the name of an endpoint and the source of its
/// password.
pub fn named_secret(text: &str) -> Result<(String, String), String> {
    let (name, named) = text.split_once('=').ok_or("write NAME=FILE or NAME=env:VARIABLE")?;
    Ok((name.to_owned(), named.to_owned()))
}

/// Parses `NAME=FILE`: the name of an endpoint, and a file for it.
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write NAME=FILE")?;
    Ok((name.to_owned(), PathBuf::from(file)))
}

/// Parses `NAME=MODEL`: the name of an endpoint, and the model or address of its service.
pub fn answering(text: &str) -> Result<(String, Answering), String> {
    let (name, answering) = text.split_once('=').ok_or("write NAME=WHAT")?;
    let answering = answering.parse().map_err(|error: ServiceModelError| error.to_string())?;
    Ok((name.to_owned(), answering))
}
