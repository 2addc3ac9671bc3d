//! What `run` and `simulate` ask alike.

use std::path::PathBuf;

use clap::Args;
use run_store::run::tag;
use spec::plan::Plan;
use spec::{Answering, ServiceModelError};

/// How thorough a run is, what runs in it and what it is called.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// An estate's tile: what tilemark estate import made
    ///
    /// The directory, or a file in it. The answer is told in its virtual machines, too.
    /// Example: --estate estate
    #[arg(long, value_name = "DIR", conflicts_with = "tile", display_order = 21)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    pub estate: Option<PathBuf>,
    /// Keep disks as large as the tile has them: --footprint 1
    #[arg(long, conflicts_with = "footprint", display_order = 27)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    pub full_size: bool,
    /// A name for the run, beside its id
    ///
    /// Several may have the same. tilemark runs --name lists them.
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "What it is called")]
    pub name: Option<String>,
    /// A tag of the run, KEY=VALUE; for each of them once
    ///
    /// tilemark runs --tag KEY=VALUE lists those that have it, and tilemark compare takes
    /// tag:KEY=VALUE for all of them. Example: --tag branch=main
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    #[arg(hide_short_help = true, help_heading = "What it is called")]
    pub tags: Vec<(String, String)>,
    /// A sentence about the run
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = "What it is called")]
    pub note: Option<String>,
    /// The settings of a plan that both have.
    #[command(flatten)]
    pub plan: Plan,
}

/// The name of an endpoint, and what answers it.
pub fn answering(text: &str) -> Result<(String, Answering), String> {
    let (name, answering) = text.split_once('=').ok_or("write NAME=WHAT")?;
    let answering = answering.parse().map_err(|error: ServiceModelError| error.to_string())?;
    Ok((name.to_owned(), answering))
}
