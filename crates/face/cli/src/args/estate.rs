use std::path::PathBuf;

use clap::{Args, Subcommand};
use estate::ClassRule;
use estate::read::{DecimalMark, NamedColumn, NamedUnit, Source};
use units::Nanos;

use super::Format;

/// Options of `tilemark estate`.
#[derive(Debug, Args)]
pub struct EstateArgs {
    #[command(subcommand)]
    pub action: EstateAction,
}

/// Subcommands of `tilemark estate`.
#[derive(Debug, Subcommand)]
pub enum EstateAction {
    /// Make a tile from the virtual machines that a platform lists
    Import(EstateImportArgs),
    /// List the classes of virtual machines, and what is assumed of each
    Classes,
    /// Print a made-up list of virtual machines in the columns of RVTools' vInfo
    Example(EstateExampleArgs),
}

/// Options of `tilemark estate import`.
#[derive(Debug, Args)]
pub struct EstateImportArgs {
    /// Lists of virtual machines, and measured loads
    ///
    /// RVTools (xlsx, or CSV of vInfo, vDisk, vPartition), CSV of vCenter, PowerCLI or your own,
    /// Proxmox VE and libvirt, range queries of Prometheus, workloads of analyze --to-workload, and
    /// watch:DIR, the store of a watched host.
    /// Records of one VM are joined by UUID, or else by name. For a file that does not name its VM
    /// write VM=FILE. docs/guides/estate.md has the commands. Example: tilemark estate import
    /// rvtools.xlsx
    #[arg(value_name = "[VM=]FILE", required = true, value_parser = source)]
    pub files: Vec<Source>,
    /// Name of the estate [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Class of a VM, or of all VMs whose names fit a pattern; repeatable
    ///
    /// In a pattern * stands for any text and ? for any letter, and case is ignored. The first that
    /// fits wins, before files and the rules of tilemark estate classes. Examples: --class
    /// billing7=database, --class 'database=*ora*'
    #[arg(long = "class", value_name = "VM=CLASS|CLASS=PATTERN")]
    pub classes: Vec<ClassRule>,
    /// Meaning of a heading: vm=Hostname; repeatable
    #[arg(long = "column", value_name = "COLUMN=HEADING")]
    pub columns: Vec<NamedColumn>,
    /// Unit of sizes whose heading has none: used=MiB, or MiB for all; repeatable
    #[arg(long = "unit", value_name = "[COLUMN=]UNIT")]
    pub units: Vec<NamedUnit>,
    /// Decimal mark of ambiguous numbers: . or ,
    ///
    /// "204.800" may be 204.8 or 204800. Other numbers of the column or the file may show the mark.
    /// If none does, the file is refused until this option is given.
    #[arg(long, value_name = "MARK")]
    pub decimal: Option<DecimalMark>,
    /// Time between two samples of virsh domstats in one file
    #[arg(long, value_name = "TIME")]
    pub every: Option<Nanos>,
    /// VMs per tile [default: the smallest number from 8 to 20 that keeps the proportions of the
    /// classes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub tile_vms: Option<u32>,
    /// Keep VMs that are powered off
    #[arg(long)]
    pub all: bool,
    /// Number the VMs instead of naming them
    #[arg(long)]
    pub anonymous: bool,
    /// The new directory: tile.toml, a workload for each class, estate.json
    #[arg(short, long, value_name = "DIR", default_value = "estate", help_heading = "Output")]
    pub out: PathBuf,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}

/// Options of `tilemark estate example`.
#[derive(Debug, Args)]
pub struct EstateExampleArgs {
    /// Number of virtual machines
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub vms: u32,
}

fn source(text: &str) -> Result<Source, String> {
    let Ok(source) = text.parse();
    Ok(source)
}
