use std::path::PathBuf;

use clap::{Args, Subcommand};
use estate::ClassRule;
use estate::read::{DecimalMark, NamedColumn, NamedUnit, Source};
use units::Nanos;

use super::Format;

/// `estate`.
#[derive(Debug, Args)]
pub struct EstateArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: EstateAction,
}

/// What to do with an estate.
#[derive(Debug, Subcommand)]
pub enum EstateAction {
    /// Make a tile of the virtual machines that a platform lists
    Import(EstateImportArgs),
    /// List the classes of machines, and what is assumed of each
    Classes,
    /// Print a made-up list of machines in the columns of RVTools' vInfo
    Example(EstateExampleArgs),
}

/// `estate import`.
#[derive(Debug, Args)]
pub struct EstateImportArgs {
    /// Lists of machines, and loads that were measured
    ///
    /// RVTools (xlsx, or CSV of vInfo, vDisk, vPartition); CSV of vCenter, PowerCLI or your own. Proxmox VE and libvirt, range
    /// queries of Prometheus, workloads of analyze --to-workload. Data of one VM are joined by UUID, else by name.
    /// A file that does not name its VM: VM=FILE. docs/guides/estate.md has the commands.
    /// Example: tilemark estate import rvtools.xlsx
    #[arg(value_name = "[VM=]FILE", required = true, value_parser = source)]
    pub files: Vec<Source>,
    /// What the estate is called; the directory's name if absent
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The class of a machine, or of all whose names fit a pattern; repeatable
    ///
    /// A pattern has * for any text and ? for any letter, and case does not count. The first that fits is taken, before
    /// what files and the rules of tilemark estate classes say.
    /// Examples: --class billing7=database, --class 'database=*ora*'
    #[arg(long = "class", value_name = "VM=CLASS|CLASS=PATTERN")]
    pub classes: Vec<ClassRule>,
    /// What a heading means: vm=Hostname; repeatable
    #[arg(long = "column", value_name = "COLUMN=HEADING")]
    pub columns: Vec<NamedColumn>,
    /// The unit of sizes whose heading has none: used=MiB, or MiB for all; repeatable
    #[arg(long = "unit", value_name = "[COLUMN=]UNIT")]
    pub units: Vec<NamedUnit>,
    /// The decimal mark of numbers that leave it open: . or ,
    ///
    /// "204.800" is 204.8 or 204800. Other numbers of the column, or of the file, show which. Where none does, the
    /// file is refused without this option.
    #[arg(long, value_name = "MARK")]
    pub decimal: Option<DecimalMark>,
    /// Time between two samples of virsh domstats in one file
    #[arg(long, value_name = "TIME")]
    pub every: Option<Nanos>,
    /// Machines in a tile; 8 to 20 if absent, as few as keep the shares of classes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub tile_vms: Option<u32>,
    /// Keep machines that are off
    #[arg(long)]
    pub all: bool,
    /// Give machines numbers instead of names
    #[arg(long)]
    pub anonymous: bool,
    /// The new directory: tile.toml, a workload for each class, estate.json
    #[arg(short, long, value_name = "DIR", default_value = "estate", help_heading = "Output")]
    pub out: PathBuf,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}

/// `estate example`.
#[derive(Debug, Args)]
pub struct EstateExampleArgs {
    /// How many machines
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub vms: u32,
}

fn source(text: &str) -> Result<Source, String> {
    let Ok(source) = text.parse();
    Ok(source)
}
