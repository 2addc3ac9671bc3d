//! Rules of `watch`: judges slices, raises alarms, and carries out `watch check-rules`.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use units::Nanos;
use watch::{Archive, Judge, LEVELS, Rules, Senders, Slice, Timing, Totals};

use crate::args::{Format, WatchCheckRulesArgs};
use crate::commands::record::host;
use crate::commands::watch_evidence::Recordings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::watch_rules::RulesText;

/// Number of windows of the longest rule that are judged again at the start.
const WINDOWS_AGAIN: u64 = 12;
/// Maximum time that is judged again at the start, in seconds. It is read in pieces of `PIECE_S`
/// seconds, which bounds the memory.
const AGAIN_MAX_S: u64 = 86_400;
const PIECE_S: u64 = 3_600;
/// Longest wait for messages at the end. It is shorter than the 10 s of one request, so that a
/// service manager need not kill the watcher.
const END: Duration = Duration::from_secs(5);

/// Maximum number of slices that wait to be judged: ten minutes.
const SLICES_MAX: usize = 60;

/// Judges slices and sends the alarms, on a thread of its own. At the end of a window many VMs are
/// judged at once, and meanwhile the kernel's buffers have to be read.
#[derive(Debug)]
pub struct Alarms {
    slices: SyncSender<Slice>,
    thread: JoinHandle<()>,
    is_behind: bool,
}

/// Reads the rules of a file.
pub fn read(path: &Path) -> Result<Rules, Failure> {
    Rules::read(path).map_err(|error| Failure::from_definition(&error))
}

impl Alarms {
    /// Starts the thread and the channels of alarms. Alarms that were active when watching ended
    /// are active again, but are not sent a second time.
    pub fn start(
        rules: &Rules,
        store: &Path,
        recordings: Recordings,
        totals: &Arc<Mutex<Totals>>,
    ) -> Result<Self, Failure> {
        let started = Senders::start(&rules.send, &host(), Timing::default());
        let senders = started
            .map_err(|error| Failure::new(Exit::Failure, format!("sending alarms: {error}")))?;
        let mut judge = Judge::new(rules);
        let longest_s = rules.longest_window().0 / Nanos::SECOND.0;
        if let Err(error) = restore(&mut judge, store, longest_s * WINDOWS_AGAIN) {
            crate::say!("alarms from before the start cannot be read: {error}");
        }
        for alarm in judge.active() {
            crate::say!("alarm from before the start: {}", alarm.summary());
        }
        senders.tell(&[], judge.active());
        show(&judge, totals);
        let totals = Arc::clone(totals);
        let (slices, waiting) = sync_channel(SLICES_MAX);
        let thread = std::thread::Builder::new()
            .name("rules".to_owned())
            .spawn(move || judge_all((judge, senders), recordings, &totals, &waiting))
            .map_err(|error| Failure::new(Exit::Failure, format!("judging rules: {error}")))?;
        Ok(Self { slices, thread, is_behind: false })
    }

    /// Passes a slice to the judging thread.
    pub fn judge(&mut self, slice: &Slice) {
        let is_behind = self.slices.try_send(slice.clone()).is_err();
        if is_behind && !self.is_behind {
            crate::say!("rules are evaluated too slowly: some slices are left out");
        }
        self.is_behind = is_behind;
    }

    /// Judges the waiting slices, sends the waiting messages, and ends.
    pub fn finish(self) {
        drop(self.slices);
        if self.thread.join().is_err() {
            crate::say!("the thread that evaluates rules has ended");
        }
    }
}

/// Judges slices as they come, and prints and sends changes of alarms.
fn judge_all(
    (mut judge, senders): (Judge, Senders),
    mut recordings: Recordings,
    totals: &Mutex<Totals>,
    slices: &Receiver<Slice>,
) {
    for slice in slices {
        let changes = judge.judge(&slice);
        recordings.look();
        for change in &changes {
            crate::say!("{}", change.line());
            recordings.begin(change, slice.start_s + slice.width_s);
        }
        senders.tell(&changes, judge.active());
        show(&judge, totals);
        senders.troubles().for_each(|trouble| crate::say!("{trouble}"));
    }
    recordings.finish();
    senders.finish(END).iter().for_each(|trouble| crate::say!("{trouble}"));
}

/// Writes the active alarms to the metrics.
fn show(judge: &Judge, totals: &Mutex<Totals>) {
    totals.lock().unwrap_or_else(PoisonError::into_inner).set_alarms(judge.active());
}

fn restore(judge: &mut Judge, store: &Path, span_s: u64) -> Result<(), watch::WatchError> {
    let archive = Archive::open(store)?;
    let Some((_, end_s)) = archive.bounds()? else { return Ok(()) };
    let mut from_s = end_s.saturating_sub(span_s.min(AGAIN_MAX_S));
    while from_s < end_s {
        let to_s = end_s.min(from_s + PIECE_S);
        let window = archive.window((from_s, to_s), PIECE_S / LEVELS[0].width_s)?;
        judge.restore(&window.slices);
        from_s = to_s;
    }
    Ok(())
}

/// Shows how the rules are understood.
pub fn check(args: &WatchCheckRulesArgs) -> Result<Exit, Failure> {
    let rules = RulesText::new(&read(&args.file)?);
    match args.format {
        Format::Text => output::print(&rules.text())?,
        Format::Json => output::print_json(&rules)?,
    }
    Ok(Exit::Success)
}
