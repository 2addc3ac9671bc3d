use clap::{Args, Subcommand};
use spec::meter::{Meter, MeterSpecError};

use super::Format;

/// `meter`.
#[derive(Debug, Args)]
pub struct MeterArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: MeterAction,
}

/// What to do with meters.
#[derive(Debug, Subcommand)]
pub enum MeterAction {
    /// Read ten samples of meters and say what they would count
    Test(MeterTestArgs),
}

/// `meter test`.
#[derive(Debug, Args)]
pub struct MeterTestArgs {
    /// Meters, as --meter of run takes them
    ///
    /// Nothing is measured but power. Exit code 5 if energy of the time could not be made of the
    /// samples. Example: tilemark meter test shelly:192.168.1.20
    #[arg(value_name = "SPEC", required = true, value_parser = spec_of)]
    pub meters: Vec<Meter>,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A meter from its text.
pub fn spec_of(text: &str) -> Result<Meter, MeterSpecError> {
    text.parse()
}
