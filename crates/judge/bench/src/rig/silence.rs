//! Real servers that hang: their calls are not answered, although they do not wait for storage.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use applications::{ApplicationError, Applications};
use run_store::slice::{CallRow, InstanceId, OpenRow, Slice, Unfinished};
use state_machine::CallError;

/// Time without an answer after which a server hangs. Our choice: PostgreSQL and Dovecot wake up
/// every few seconds even without requests, and a slow storage keeps a process waiting at almost
/// every look.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Minimum number of looks in that time that found no process running or waiting for storage. Our
/// choice: with longer slices there are fewer looks, which could all miss a busy process.
const LOOKS_MIN: u32 = 8;

/// Instances of a load and the applications that answer their calls.
#[derive(Debug, Default)]
pub(super) struct Silence {
    of_instances: BTreeMap<InstanceId, Server>,
}

/// Application of an instance.
#[derive(Debug)]
struct Server {
    name: String,
    /// Begin of its silence, and the number of looks since then; `None` if it is not silent.
    silent: Option<(Instant, u32)>,
}

impl Silence {
    /// Creates the watch over the applications of a load on this directory. On FUSE nobody is
    /// watched: a process waits for such a file system in the state in which it also waits for
    /// requests.
    pub(super) fn of(owners: impl Iterator<Item = (InstanceId, String)>, directory: &Path) -> Self {
        if is_fuse(directory) {
            return Self::default();
        }
        let server = |name| Server { name, silent: None };
        Self { of_instances: owners.map(|(instance, name)| (instance, server(name))).collect() }
    }

    /// Notes the answers of a slice.
    ///
    /// # Errors
    ///
    /// An application hangs.
    pub(super) fn note(
        &mut self,
        slice: &Slice,
        all: &Applications,
    ) -> Result<(), ApplicationError> {
        for (instance, server) in &mut self.of_instances {
            let own = all.all().find(|(own, _)| *own == server.name);
            let own =
                own.map(|(_, own)| own).filter(|own| waits(slice, *instance) && own.is_idle());
            if let Some(seconds) = server.look(own.is_some(), Instant::now())
                && let Some(own) = own
            {
                return Err(own.hangs(&server.name, seconds));
            }
        }
        Ok(())
    }
}

impl Server {
    /// Notes a look. Returns the seconds of the silence if the server hangs.
    fn look(&mut self, is_silent: bool, now: Instant) -> Option<u64> {
        if !is_silent {
            self.silent = None;
            return None;
        }
        let (since, looks) = self.silent.get_or_insert((now, 0));
        *looks += 1;
        let silence = now.duration_since(*since);
        (silence >= SILENCE_MAX && *looks >= LOOKS_MIN).then_some(silence.as_secs())
    }
}

/// Returns true if calls of the instance wait, and none was answered in the slice. A refusal is an
/// answer.
fn waits(slice: &Slice, instance: InstanceId) -> bool {
    let is_open =
        |row: &&OpenRow| row.instance == instance && matches!(row.what, Unfinished::Call(_));
    let answers = |row: &CallRow| {
        let refused = row.errors[CallError::Status as usize];
        row.service.count() + refused + row.errors[CallError::Protocol as usize]
    };
    let mut calls = slice.calls.iter().filter(|row| row.instance == instance);
    slice.open.iter().any(|row| is_open(&row)) && calls.all(|row| answers(row) == 0)
}

/// Returns true for a directory on FUSE. A directory that cannot be asked counts as one.
fn is_fuse(directory: &Path) -> bool {
    // FUSE_SUPER_MAGIC of linux/magic.h.
    rustix::fs::statfs(directory).map_or(true, |found| found.f_type == 0x6573_5546)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the outcome of looks at these seconds, all silent except the one at `answered`.
    fn looks(seconds: impl Iterator<Item = u64>, answered: u64) -> Vec<Option<u64>> {
        let begin = Instant::now();
        let mut server = Server { name: "shop".to_owned(), silent: None };
        let at = |second| begin + Duration::from_secs(second);
        seconds.map(|second| server.look(second != answered, at(second))).collect()
    }

    #[test]
    fn hanging_takes_ten_seconds_and_eight_looks_without_answer() {
        assert_eq!(looks(1..=11, 0).iter().position(Option::is_some), Some(10));
        assert!(looks(1..=15, 6).iter().all(Option::is_none), "answered at 6 s");
        let rare = looks((0..10).map(|look| look * 10), 1);
        assert_eq!(rare.iter().position(Option::is_some), Some(7), "eighth look, at 70 s");
        assert_eq!(rare[7], Some(70));
    }

    #[test]
    fn refusals_are_answers() {
        let mut slice = Slice::default();
        let instance = InstanceId(3);
        let ages = stats::Compact::default();
        slice.open.push(OpenRow { instance, what: Unfinished::Call(0), ages });
        assert!(waits(&slice, instance) && !waits(&slice, InstanceId(4)));
        let mut errors = [0; CallError::ALL.len()];
        errors[CallError::Status as usize] = 1;
        let times = stats::Compact::default;
        let (bytes, service, response) = (units::Bytes::ZERO, times(), times());
        slice.calls.push(CallRow { instance, kind: 0, bytes, errors, service, response });
        assert!(!waits(&slice, instance));
    }
}
