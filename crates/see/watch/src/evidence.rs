//! Recordings made when limits broke, in the directory `evidence` of a store.
//!
//! `TIME.json` is the alarm, `TIME.tmt` the trace and `TIME.findings.json` the findings of an
//! analysis of the trace. Other processes write trace and findings; an alarm without a trace is one
//! that could not be recorded.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use units::Bytes;

use crate::send::Document;
use crate::{Change, WatchError};

const DIRECTORY: &str = "evidence";
/// Format of a recording's name, which is a time in UTC.
const NAME: &str = "%Y%m%dT%H%M%SZ";
/// Period over which [`Evidences::begin`] counts recordings, in seconds.
const DAY_S: u64 = 86_400;

/// Recordings of a store.
#[derive(Debug, Clone)]
pub struct Evidences {
    directory: PathBuf,
}

/// A recording made when a limit broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Begin of the recording, in seconds since 1970.
    #[serde(skip)]
    pub at_s: u64,
    /// Name of the recording, which is its begin in UTC.
    pub name: String,
    /// Description of the alarm in one line.
    pub alarm: String,
    /// VM that suffered; `None` if the alarm is about the disk.
    pub vm: Option<String>,
    /// Disk that was recorded.
    pub disk: String,
    /// Trace; `None` if nothing was recorded.
    pub trace: Option<PathBuf>,
    /// Findings of the analysis, as sentences.
    pub findings: Vec<String>,
    /// Size of all files of the recording, in bytes.
    pub bytes: u64,
}

impl Evidences {
    /// Opens the recordings of the store in a directory.
    pub fn of(store: &Path) -> Self {
        Self { directory: store.join(DIRECTORY) }
    }

    /// Returns the maximum size of all recordings in a store of at most `bytes_max`: an eighth. Our
    /// choice.
    pub fn most_of(bytes_max: Bytes) -> Bytes {
        Bytes::new(bytes_max.get() / 8)
    }

    /// Returns the size of a trace, even while it is being recorded.
    pub fn bytes_of(trace: &Path) -> u64 {
        bytes_of(trace).max(bytes_of(&trace.with_extension("tmt.partial")))
    }

    /// Stores an alarm that begins, and returns the path for its trace; `None` if there were
    /// already `per_day` recordings in the last 24 hours.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub fn begin(
        &self,
        host: &str,
        change: &Change,
        (now_s, per_day): (u64, usize),
    ) -> Result<Option<PathBuf>, WatchError> {
        let recent = |at_s: u64| at_s <= now_s && now_s - at_s < DAY_S;
        let names = self.names()?;
        let name = name_of(now_s);
        if names.iter().filter(|name| at_of(name).is_some_and(recent)).count() >= per_day
            || names.contains(&name)
        {
            return Ok(None);
        }
        fs::create_dir_all(&self.directory).map_err(WatchError::io(&self.directory))?;
        let path = self.path(&name, ".json");
        let text = Document::new(host, change).bytes();
        let written = untrusted::create(&path).and_then(|mut file| file.write_all(&text));
        written.map_err(WatchError::io(&path))?;
        Ok(Some(self.path(&name, ".tmt")))
    }

    /// Returns the path for the findings of an analysis of a trace.
    pub fn findings_of(trace: &Path) -> PathBuf {
        trace.with_extension("findings.json")
    }

    /// Lists all recordings, the oldest first. A file that cannot be read counts as absent.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<Vec<Evidence>, WatchError> {
        Ok(self.names()?.iter().filter_map(|name| self.evidence(name)).collect())
    }

    fn evidence(&self, name: &str) -> Option<Evidence> {
        let read = |end: &str| -> serde_json::Value {
            let text = untrusted::read_text(&self.path(name, end)).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        };
        let (alarm, analysis) = (read(".json"), read(".findings.json"));
        let text = |key: &str| alarm[key].as_str().map(str::to_owned);
        let findings = analysis["findings"].as_array();
        let findings = findings.into_iter().flatten();
        let trace = self.path(name, ".tmt");
        Some(Evidence {
            at_s: at_of(name)?,
            name: name.to_owned(),
            alarm: text("summary").unwrap_or_default(),
            vm: text("vm"),
            disk: text("disk").unwrap_or_default(),
            trace: trace.is_dir().then_some(trace),
            findings: findings.filter_map(|own| own["text"].as_str()).map(str::to_owned).collect(),
            bytes: self.files(name).iter().map(|path| bytes_of(path)).sum(),
        })
    }

    /// Removes the oldest recordings until all together have at most `bytes_max`.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub(crate) fn make_room(&self, bytes_max: Bytes) -> Result<(), WatchError> {
        let all = self.list()?;
        let mut bytes: u64 = all.iter().map(|own| own.bytes).sum();
        for own in all.iter().take_while(|own| {
            let is_over = bytes > bytes_max.get();
            bytes = bytes.saturating_sub(own.bytes);
            is_over
        }) {
            self.remove(&own.name)?;
        }
        Ok(())
    }

    /// Returns the size of all recordings.
    pub(crate) fn bytes(&self) -> u64 {
        self.list().map_or(0, |all| all.iter().map(|own| own.bytes).sum())
    }

    /// Removes recordings that began before a time, and recordings with I/O of a VM. Returns the
    /// number of removed recordings.
    ///
    /// # Errors
    /// As [`Evidences::make_room`].
    pub(crate) fn forget(
        &self,
        before_s: Option<u64>,
        vm: Option<&str>,
    ) -> Result<u64, WatchError> {
        let mut removed = 0;
        for own in self.list()? {
            let is_old = before_s.is_some_and(|before_s| own.at_s < before_s);
            // What cannot be read may have the VM.
            let has_vm = |vm: &str| {
                let opened = trace::store::open(&self.path(&own.name, ".tmt"));
                own.vm.as_deref() == Some(vm)
                    || opened.map_or(true, |store| store.info().vms.iter().any(|name| name == vm))
            };
            if is_old || vm.is_some_and(has_vm) {
                self.remove(&own.name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn remove(&self, name: &str) -> Result<(), WatchError> {
        for path in self.files(name) {
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            match removed {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(WatchError::Io { path, source: error });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the files of a recording in the order of removal. The alarm is last, because without
    /// it the other files would belong to no recording.
    fn files(&self, name: &str) -> [PathBuf; 4] {
        [".tmt", ".tmt.partial", ".findings.json", ".json"].map(|end| self.path(name, end))
    }

    fn path(&self, name: &str, end: &str) -> PathBuf {
        self.directory.join(format!("{name}{end}"))
    }

    /// Returns the names, sorted by time.
    fn names(&self) -> Result<BTreeSet<String>, WatchError> {
        let found = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            found => found.map_err(WatchError::io(&self.directory))?,
        };
        let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()));
        Ok(names.filter(|name| at_of(name).is_some()).collect())
    }
}

fn name_of(at_s: u64) -> String {
    let time = i64::try_from(at_s).ok().and_then(|at| Timestamp::from_second(at).ok());
    time.unwrap_or_default().strftime(NAME).to_string()
}

/// Parses the time of a name; `None` if it is not a recording's name.
pub(crate) fn at_of(name: &str) -> Option<u64> {
    let time = jiff::civil::DateTime::strptime(NAME, name).ok()?;
    let time = time.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp().as_second();
    u64::try_from(time).ok().filter(|at_s| name_of(*at_s) == name)
}

/// Returns the size of a file, or of the files in a directory.
fn bytes_of(path: &Path) -> u64 {
    let Ok(facts) = path.symlink_metadata() else { return 0 };
    if !facts.is_dir() {
        return facts.len();
    }
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum()
}
