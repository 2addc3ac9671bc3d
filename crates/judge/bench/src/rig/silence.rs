//! Real servers that hang: their calls are not answered, although they do not wait for storage.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use applications::{ApplicationError, Applications};
use run_store::slice::{InstanceId, Slice, Unfinished};

/// Time without an answer after which a server hangs. Our choice: PostgreSQL and Dovecot wake up
/// every few seconds even without requests, and a slow storage keeps a process waiting at almost
/// every look.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Instances of a load and the applications that answer their calls.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Name of the application, and the time since when it has been silent.
    of_instances: BTreeMap<InstanceId, (String, Option<Instant>)>,
}

impl Silence {
    pub(super) fn of(owners: impl Iterator<Item = (InstanceId, String)>) -> Self {
        Self { of_instances: owners.map(|(instance, name)| (instance, (name, None))).collect() }
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
        for (instance, (name, since)) in &mut self.of_instances {
            let is_open = slice
                .open
                .iter()
                .any(|row| row.instance == *instance && matches!(row.what, Unfinished::Call(_)));
            let mut calls = slice.calls.iter().filter(|row| row.instance == *instance);
            let is_answered = calls.any(|row| row.service.count() > 0);
            let own = all.all().find(|(own, _)| own == name);
            let Some((_, own)) = own.filter(|(_, own)| is_open && !is_answered && own.is_idle())
            else {
                *since = None;
                continue;
            };
            let seconds = since.get_or_insert_with(Instant::now).elapsed().as_secs();
            if seconds >= SILENCE_MAX.as_secs() {
                return Err(own.hangs(name, seconds));
            }
        }
        Ok(())
    }
}
