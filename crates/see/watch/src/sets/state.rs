//! State of [`Sets`] in a file of the store, from which the next watcher continues.
//!
//! The file is a number for its form, the CRC-32 of the rest, and the rest in postcard's encoding.
//! A file of another form, or a damaged one, counts as absent: sets then begin anew.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use cache::mrc::{SavedSets, WorkingSets};
use serde::{Deserialize, Serialize};

use super::watch::{PAGES_MAX, STEP_MAX_S, VMS_MAX, Vm};
use super::{SetSpan, Sets};
use crate::WatchError;

/// Form of the file. It must also be increased when the hash of pages or of device names changes,
/// because sampled pages would then have other numbers.
const FORM: u32 = 1;
pub(crate) const FILE: &str = "working-sets";
const UNFINISHED: &str = "working-sets.tmp";
/// Maximum size of a file that is read: three times the size for 256 VMs.
const FILE_MAX: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct Saved {
    hour_s: u64,
    now_s: u64,
    since_s: u64,
    vms: Vec<SavedVm>,
}

#[derive(Serialize, Deserialize)]
struct SavedVm {
    name: String,
    since_s: u64,
    idle_hours: u32,
    now: u32,
    thresholds: Vec<Vec<u32>>,
    pages: Vec<(u64, u32, u32)>,
}

impl Sets {
    /// Encodes the state of the sets for a file.
    pub fn save(&self) -> Vec<u8> {
        let vms = self.vms.iter().map(|vm| {
            let SavedSets { now, thresholds, pages } = vm.sets.save();
            let (name, since_s, idle_hours) = (vm.name.to_string(), vm.since_s, vm.idle_hours);
            SavedVm { name, since_s, idle_hours, now, thresholds, pages }
        });
        let (hour_s, now_s, since_s) = (self.hour_s, self.now_s, self.since_s);
        let saved = Saved { hour_s, now_s, since_s, vms: vms.collect() };
        let bytes = postcard::to_stdvec(&saved).expect("numbers, texts and lists");
        let head = [FORM.to_le_bytes(), crc32fast::hash(&bytes).to_le_bytes()].concat();
        [head, bytes].concat()
    }

    /// Restores sets from a saved state. `None` if watching stopped more than ten minutes ago,
    /// because the use since then is unknown, or if the bytes are not valid.
    pub fn restore(bytes: &[u8], now_s: u64) -> Option<Self> {
        let (form, rest) = bytes.split_first_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        let is_ours =
            u32::from_le_bytes(*form) == FORM && u32::from_le_bytes(*sum) == crc32fast::hash(rest);
        let saved: Saved = is_ours.then(|| postcard::from_bytes(rest).ok())??;
        let is_recent = now_s.abs_diff(saved.now_s) <= STEP_MAX_S;
        if !is_recent || saved.vms.len() > VMS_MAX {
            return None;
        }
        let lengths = SetSpan::ALL.map(SetSpan::hours);
        let vms = saved.vms.into_iter().map(|vm| {
            let SavedVm { name, since_s, idle_hours, now, thresholds, pages } = vm;
            let sets = SavedSets { now, thresholds, pages };
            let sets = WorkingSets::restore(&lengths, PAGES_MAX, sets)?;
            Some(Vm { name: name.into(), since_s, sets, idle_hours })
        });
        let vms = vms.collect::<Option<Vec<Vm>>>()?;
        let mut sets = Self::new(saved.now_s);
        (sets.vms, sets.hour_s, sets.since_s) = (vms, saved.hour_s, saved.since_s);
        Some(sets)
    }
}

/// Writes the file in place of the previous one. A power failure may lose both; sets then begin
/// anew. That is acceptable, because a flush would delay the I/O of others.
pub(crate) fn write(directory: &Path, bytes: &[u8]) -> Result<(), WatchError> {
    let (path, unfinished) = (directory.join(FILE), directory.join(UNFINISHED));
    let written = untrusted::create(&unfinished)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&unfinished, &path));
    written.map_err(|source| {
        // The first error is the one that matters.
        let _ = fs::remove_file(&unfinished);
        WatchError::Io { path, source }
    })
}

/// Reads the content of the file; `None` if it cannot be read.
pub(crate) fn read(directory: &Path) -> Option<Vec<u8>> {
    untrusted::read(&directory.join(FILE), FILE_MAX).ok()
}

/// Removes the file; returns false if there is none.
pub(crate) fn remove(directory: &Path) -> Result<bool, WatchError> {
    let path = directory.join(FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(WatchError::io(&path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Clock, Device, IoRecord, Losses, Operation, TraceInfo};
    use units::Nanos;

    /// If a hash or a library with a hash changes, [`FORM`] must be increased and these numbers
    /// updated.
    #[test]
    fn hashes_are_those_of_the_form() {
        let info = TraceInfo {
            format: "record",
            clock: Clock::Order,
            started_unix_ns: None,
            has_latency: true,
            vms: vec!["web1".to_owned()],
            devices: vec![Device { name: "nvme0n1".to_owned(), size: None }],
            losses: Losses::default(),
        };
        let mut sets = Sets::new(0);
        sets.add(&[IoRecord::new(Nanos::ZERO, Operation::Read, 0, 4 * 4096 * 4096)], &info);
        let saved = sets.vms[0].sets.save();
        let sum = saved.pages.iter().fold(0_u64, |sum, page| sum.wrapping_add(page.0));
        let (first, pages) = (saved.pages[0].0, saved.pages.len());
        let form_1 = (1, 8_102_873_767_417_137_136, 1312, 5_645_796_394_593_287_445);
        assert_eq!((FORM, first, pages, sum), form_1);
    }
}
