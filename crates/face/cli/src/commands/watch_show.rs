//! Results of `watch export` and `watch neighbours`, of the store of this host or of several hosts.

use std::fs::File;
use std::io::{BufWriter, Write};

#[cfg(feature = "hosts")]
use watch::HostSets;
use watch::{Neighbours, SetRows, Slice, Window};

use crate::args::{Format, WatchExportArgs, WatchExportFormat, WatchNeighboursArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::neighbours::NeighbourDocument;

/// Seed of the confidence intervals of neighbours. It is fixed, so the same store gives the same
/// answer.
const SEED: u64 = 0;

/// Maximum number of slices in which neighbours are searched: two weeks of minutes.
pub const NEIGHBOUR_SLICES: u64 = 20_160;

/// Rows that `export` writes.
pub enum Rows {
    Slices(Window),
    Sets(SetRows),
    #[cfg(feature = "hosts")]
    HostSets(Vec<HostSets>),
}

impl Rows {
    /// Writes the rows to the file of the options, or to stdout.
    pub fn write(&self, args: &WatchExportArgs) -> Result<(), Failure> {
        let not_written = |error: std::io::Error| {
            let out = args.out.as_ref();
            let out = out.map_or_else(|| "stdout".into(), |out| out.to_string_lossy());
            Failure::new(Exit::Failure, format!("writing {out}: {error}"))
        };
        let out: Box<dyn Write + Send> = match &args.out {
            Some(path) => Box::new(File::create_new(path).map_err(not_written)?),
            None => Box::new(std::io::stdout()),
        };
        let mut out = BufWriter::new(out);
        match (self, args.format) {
            (Self::Slices(window), WatchExportFormat::Csv) => window.write_csv(&mut out),
            (Self::Slices(window), WatchExportFormat::Parquet) => window.write_parquet(&mut out),
            (Self::Sets(sets), WatchExportFormat::Csv) => sets.write_csv(&mut out),
            (Self::Sets(sets), WatchExportFormat::Parquet) => sets.write_parquet(&mut out),
            #[cfg(feature = "hosts")]
            (Self::HostSets(all), WatchExportFormat::Csv) => HostSets::write_csv(all, &mut out),
            #[cfg(feature = "hosts")]
            (Self::HostSets(all), WatchExportFormat::Parquet) => {
                HostSets::write_parquet(all, &mut out)
            }
        }
        .and_then(|()| out.flush())
        .map_err(not_written)
    }
}

/// Searches and shows the neighbours of a VM, in a document that `document` makes.
pub fn show_neighbours(
    slices: &[Slice],
    args: &WatchNeighboursArgs,
    document: impl FnOnce(&str, &Neighbours) -> NeighbourDocument,
) -> Result<(), Failure> {
    let is_known = |slice: &Slice| slice.io.keys().any(|key| *key.vm == *args.vm);
    if !slices.iter().any(is_known) {
        let text = format!("no I/O of VM {} was seen in that time", args.vm);
        return Err(
            Failure::new(Exit::Usage, text).hint(Some("tilemark watch status lists the VMs"))
        );
    }
    let document = document(&args.vm, &watch::neighbours(slices, &args.vm, SEED));
    match args.look.format {
        Format::Text => output::show(&document.text()),
        Format::Json => output::print_json(&document),
    }
}
