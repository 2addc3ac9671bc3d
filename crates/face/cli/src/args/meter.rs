use clap::{Args, Subcommand};
use spec::meter::{Meter, MeterSpecError};

use super::Format;

/// Options of `tilemark meter`.
#[derive(Debug, Args)]
pub struct MeterArgs {
    #[command(subcommand)]
    pub action: MeterAction,
}

/// Subcommands of `tilemark meter`.
#[derive(Debug, Subcommand)]
pub enum MeterAction {
    /// Read ten samples of meters and print the energy they would give
    Test(MeterTestArgs),
}

/// Options of `tilemark meter test`.
#[derive(Debug, Args)]
pub struct MeterTestArgs {
    /// Meters, in the syntax of run --meter
    ///
    /// Measures only power. Exit code 5 if the samples do not give an energy. Example: tilemark
    /// meter test shelly:192.168.1.20
    #[arg(value_name = "SPEC", required = true, value_parser = spec_of)]
    pub meters: Vec<Meter>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Parses a meter in the syntax `KIND:WHERE[,KEY=VALUE...]`.
pub fn spec_of(text: &str) -> Result<Meter, MeterSpecError> {
    text.parse()
}
