//! `what-if --watch`: predicts the hits of a cache for VMs of a watched host, from their working
//! sets.

use std::path::PathBuf;

use units::{Bytes, Nanos};
use watch::{Archive, Pattern};

use crate::args::{Format, WATCH_STORE_ENV, WhatIfArgs};
use crate::commands::watch::failed;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::cache_hits::CacheDocument;

/// Default length of the used data. A week has working days and a weekend.
const LAST: Nanos = Nanos::from_secs(604_800);
/// Maximum number of slices of that week. Slices of 10 minutes are fine enough, because they are
/// averaged over hours.
const SLICES_MAX: u64 = 1008;

/// Prints the predicted hits, or the reason why there is no prediction.
pub fn run(args: &WhatIfArgs, vm: &str, cache: Bytes) -> Result<Exit, Failure> {
    let pattern = Pattern::try_from(vm.to_owned())
        .map_err(|error| Failure::new(Exit::Usage, format!("--watch: {error}")))?;
    let archive = Archive::open(&store(args)).map_err(|error| failed(&error))?;
    let (first_s, end_s) = archive.bounds().map_err(|error| failed(&error))?.unwrap_or_default();
    let last_s = args.last.unwrap_or(LAST).0.div_ceil(Nanos::SECOND.0);
    let from_s = first_s.max(end_s.saturating_sub(last_s));
    // Sets are of whole hours, and so are the slices that they are compared with.
    let window = (from_s - from_s % 3600, end_s);
    let slices_max = SLICES_MAX.max((window.1 - window.0).div_ceil(3600));
    let slices = archive.window(window, slices_max).map_err(|error| failed(&error))?;
    let mut sets = archive.sets(window, 1).map_err(|error| failed(&error))?;
    for file in slices.unreadable.iter().chain(&sets.unreadable) {
        crate::say!("left out: {file}");
    }
    let is_known = |name: &str| pattern.fits(name);
    if !slices.slices.iter().flat_map(|slice| slice.io.keys()).any(|key| is_known(&key.vm)) {
        let text = format!("no I/O of VM {} was seen in that time", untrusted::shown(vm));
        return Err(
            Failure::new(Exit::Usage, text).hint(Some("tilemark watch status lists the VMs"))
        );
    }
    sets.rows.retain(|row| is_known(&row.vm));
    let hits = watch::cache_hits(&sets.rows, &slices.slices, cache).map_err(|error| {
        let hint = "the working set of an hour is stored when the hour is over; a longer time \
            gives more certain sets";
        Failure::from_error(Exit::Inconclusive, &error).hint(Some(hint))
    })?;
    let lost = slices.slices.iter().map(|slice| slice.lost).fold(0, u64::saturating_add);
    let document = CacheDocument::new(cache, &hits, lost);
    match args.stored.format {
        Format::Text => output::show(&document.text())?,
        Format::Json => output::print_json(&document)?,
    }
    Ok(Exit::Success)
}

/// Returns the directory of the store. As in `estate import`, it may also be given as `watch:DIR`.
fn store(args: &WhatIfArgs) -> PathBuf {
    let named = args.run.as_deref().map(|run| run.strip_prefix("watch:").unwrap_or(run).into());
    let usual = || {
        std::env::var_os(WATCH_STORE_ENV).unwrap_or_else(|| watch::STORE_DIRECTORY.into()).into()
    };
    named.unwrap_or_else(usual)
}
