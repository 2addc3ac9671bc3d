//! `watch`: watches the I/O of this host, and shows, exports or removes the stored data.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use vm::VmError;
use watch::{
    Archive, Evidences, Options, SetRow, SetRows, Sightings, Slice, Store, Totals, WatchError,
    Window,
};
use watcher::{Watcher, WatcherOptions, ask_libvirt};

use crate::args::{
    By, Format, WatchAction, WatchArgs, WatchEvidenceArgs, WatchExportArgs, WatchForgetArgs,
    WatchNeighboursArgs, WatchStatusArgs, WindowArgs,
};
use crate::commands::record::{failure as not_captured, host, stop_flag};
use crate::commands::watch_evidence::Recordings;
use crate::commands::watch_hosts;
use crate::commands::watch_rules::{self, Alarms};
use crate::commands::watch_show::{NEIGHBOUR_SLICES, Rows, show_neighbours};
use crate::commands::watch_window::{STATUS_SLICES, window_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::neighbours::NeighbourDocument;
use crate::text::watch::Status;
use crate::text::watch_evidence::EvidenceText;
use crate::{output, text};

/// Runs the subcommand.
pub fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    match &args.action {
        None => watch(args),
        Some(WatchAction::Status(args)) if args.watched.is_any() => watch_hosts::status(args),
        Some(WatchAction::Status(args)) => status(args),
        Some(WatchAction::Export(args)) if args.watched.is_any() => watch_hosts::export(args),
        Some(WatchAction::Export(args)) => export(args),
        Some(WatchAction::Neighbours(args)) if args.watched.is_any() => {
            watch_hosts::neighbours(args)
        }
        Some(WatchAction::Neighbours(args)) => neighbours(args),
        Some(WatchAction::Evidence(args)) if args.watched.is_any() => watch_hosts::evidence(args),
        Some(WatchAction::Evidence(args)) => evidence(args),
        Some(WatchAction::Forget(args)) => forget(args),
        Some(WatchAction::CheckRules(args)) => watch_rules::check(args),
    }
}

/// Refuses `--libvirt` without `virsh`, and warns if libvirt does not answer yet.
fn check_libvirt(uri: &str) -> Result<(), Failure> {
    match ask_libvirt(uri) {
        Ok(()) => Ok(()),
        Err(error @ VmError::Program { .. }) => Err(Failure::from_error(Exit::Refused, &error)
            .hint(Some("install libvirt-clients, or leave out --libvirt"))),
        Err(error) => {
            crate::say!("warning: {error}; its VMs are asked as soon as it answers");
            Ok(())
        }
    }
}

fn watch(args: &WatchArgs) -> Result<Exit, Failure> {
    let rules = args.rules.as_deref().map(watch_rules::read).transpose()?;
    let stop = stop_flag()?;
    let options = Options { host: host(), bytes_max: args.keep };
    let mut store = Store::open(&args.store.store, options).map_err(|error| failed(&error))?;
    let by = match args.by {
        By::Name => capture::By::Name,
        By::Process => capture::By::Process,
        By::Cgroup => capture::By::Cgroup,
    };
    if let Some(uri) = &args.libvirt {
        check_libvirt(uri)?;
    }
    let targets = args.targets.clone();
    let options =
        WatcherOptions { targets, buffer: args.buffer, by, libvirt: args.libvirt.clone() };
    let totals = Arc::new(Mutex::new(Totals::new(&host())));
    let start = |rules| {
        let recordings = Recordings::new((&args.store.store, args.keep), args.by, rules);
        Alarms::start(rules, &args.store.store, recordings, &totals)
    };
    let mut alarms = rules.as_ref().map(start).transpose()?;
    let mut watcher = Watcher::start(options).map_err(|error| not_captured(&error))?;
    store.saved_sets().iter().for_each(|saved| watcher.take_up(saved));
    if let Some(directory) = &args.canary {
        watcher
            .start_canary(directory)
            .map_err(|error| Failure::from_error(Exit::Refused, &error).hint(error.hint()))?;
    }
    let disks: Vec<&str> = watcher.disks().collect();
    crate::say!("watching {}; {}; Ctrl-C ends it", disks.join(", "), args.store.store.display());
    let below = watcher.disks_below();
    if !below.is_empty() {
        let below = below.join(", ");
        crate::say!(
            "{below} lie below other disks: a VM's I/O through both is counted once, at \
            the upper disk"
        );
    }
    if let Some(address) = args.metrics {
        let totals = Arc::clone(&totals);
        let families = move || totals.lock().unwrap_or_else(PoisonError::into_inner).families();
        let at = page_server::answer_families(address, families)
            .map_err(|error| Failure::new(Exit::Usage, format!("--metrics {address}: {error}")))?;
        crate::say!("metrics    http://{at}/metrics");
    }
    let began = Instant::now();
    let mut keeper = Keeper::default();
    let is_over = || {
        let time = args.duration.is_some_and(|time| began.elapsed() >= time.to_duration());
        time || stop.load(Ordering::Relaxed)
    };
    while !is_over() {
        if let Some(slice) = watcher.turn().map_err(|error| not_captured(&error))? {
            totals.lock().unwrap_or_else(PoisonError::into_inner).add(&slice);
            alarms.iter_mut().for_each(|alarms| alarms.judge(&slice));
            let sets = watcher.take_sets();
            keeper.keep(&mut store, slice, sets, &watcher.sightings(), || watcher.saved_sets());
        }
    }
    let seen = watcher.sightings();
    let (last, sets) = watcher.finish().map_err(|error| not_captured(&error))?;
    alarms.iter_mut().for_each(|alarms| alarms.judge(&last));
    keeper.keep(&mut store, last, sets, &seen, || watcher.saved_sets());
    let closed = store.close().map_err(|error| failed(&error));
    alarms.into_iter().for_each(Alarms::finish);
    closed.map(|()| Exit::Success)
}

/// Reports when slices cannot be stored or events are lost: one line when it begins and one when it
/// ends.
#[derive(Debug, Default)]
struct Keeper {
    is_failing: bool,
    is_losing: bool,
}

impl Keeper {
    /// Stores a slice. If an hour ended with it, also stores the hour's working sets and the saved
    /// state of the working sets. Saving more often would make that state the largest part of all
    /// writes.
    fn keep(
        &mut self,
        store: &mut Store,
        slice: Slice,
        sets: Vec<SetRow>,
        seen: &Sightings,
        saved: impl FnOnce() -> Vec<u8>,
    ) {
        let (lost, at_s) = (slice.lost, slice.start_s);
        if (lost > 0) != self.is_losing {
            self.is_losing = lost > 0;
            match self.is_losing {
                true => crate::say!("{lost} events were lost; a larger --buffer loses fewer"),
                false => crate::say!("no events are lost any more"),
            }
        }
        // Before the slice: a new store's names are known from its first slice on.
        let of_names = store.note(at_s, seen);
        let of_slice = store.push(slice);
        let of_sets = match sets.is_empty() {
            true => Ok(()),
            false => store.push_sets(sets).and(store.save_sets(&saved())),
        };
        let stored = of_slice.and(of_sets).and(of_names);
        match &stored {
            Ok(()) if self.is_failing => crate::say!("slices are stored again"),
            Err(error) if !self.is_failing => {
                crate::say!("not stored: {error}; watching goes on");
            }
            Ok(()) | Err(_) => {}
        }
        self.is_failing = stored.is_err();
    }
}

pub fn failed(error: &WatchError) -> Failure {
    let exit = match error {
        WatchError::Io { .. } => Exit::Failure,
        WatchError::NoStore { .. } => Exit::Usage,
        _ => Exit::Refused,
    };
    Failure::from_error(exit, error).hint(error.hint())
}

/// Returns begin and end of a window of a store, in seconds since 1970; `None` if the store is
/// empty.
fn bounds(archive: &Archive, args: &WindowArgs) -> Result<Option<(u64, u64)>, Failure> {
    window_of(archive.bounds().map_err(|error| failed(&error))?, args)
}

/// Reads a window of a store.
fn window(archive: &Archive, args: &WindowArgs, slices: u64) -> Result<Window, Failure> {
    let Some(bounds) = bounds(archive, args)? else { return Ok(Window::default()) };
    let window = archive.window(bounds, slices).map_err(|error| failed(&error))?;
    window.unreadable.iter().for_each(|file| crate::say!("left out: {file}"));
    Ok(window)
}

fn status(args: &WatchStatusArgs) -> Result<Exit, Failure> {
    let look = &args.look;
    let archive = Archive::open(&look.store.store).map_err(|error| failed(&error))?;
    let state = archive.state().map_err(|error| failed(&error))?;
    let window = window(&archive, &look.window, STATUS_SLICES)?;
    let sets = archive.newest_sets().map_err(|error| failed(&error))?;
    sets.unreadable.iter().for_each(|file| crate::say!("left out: {file}"));
    let status = Status::new(archive.host(), &state, &window, &sets.rows);
    match look.format {
        Format::Text => output::show(&status.text())?,
        Format::Json => output::print_json(&status)?,
    }
    Ok(Exit::Success)
}

/// Reads the working sets of the hours that begin in a window.
fn sets(archive: &Archive, args: &WindowArgs) -> Result<SetRows, Failure> {
    let Some((from, to)) = bounds(archive, args)? else { return Ok(SetRows::default()) };
    // A set is of a whole hour, also where watching began within it.
    let sets = archive.sets((from - from % 3600, to), 1).map_err(|error| failed(&error))?;
    sets.unreadable.iter().for_each(|file| crate::say!("left out: {file}"));
    Ok(sets)
}

fn export(args: &WatchExportArgs) -> Result<Exit, Failure> {
    let archive = Archive::open(&args.store.store).map_err(|error| failed(&error))?;
    // Read before the file is made, so that an error leaves none behind.
    let rows = match args.sets {
        true => Rows::Sets(sets(&archive, &args.window)?),
        false => Rows::Slices(window(&archive, &args.window, args.slices)?),
    };
    rows.write(args)?;
    Ok(Exit::Success)
}

fn neighbours(args: &WatchNeighboursArgs) -> Result<Exit, Failure> {
    let look = &args.look;
    let archive = Archive::open(&look.store.store).map_err(|error| failed(&error))?;
    let window = window(&archive, &look.window, NEIGHBOUR_SLICES)?;
    show_neighbours(&window.slices, args, NeighbourDocument::new)?;
    Ok(Exit::Success)
}

fn evidence(args: &WatchEvidenceArgs) -> Result<Exit, Failure> {
    Archive::open(&args.store.store).map_err(|error| failed(&error))?;
    let all = Evidences::of(&args.store.store).list().map_err(|error| failed(&error))?;
    let text = EvidenceText::new(all);
    match args.format {
        Format::Text => output::show(&text.text())?,
        Format::Json => output::print_json(&text)?,
    }
    Ok(Exit::Success)
}

fn forget(args: &WatchForgetArgs) -> Result<Exit, Failure> {
    let options = Options { host: host(), bytes_max: units::Bytes::new(u64::MAX) };
    // Opening a store that is none would make one.
    Archive::open(&args.store.store).map_err(|error| failed(&error))?;
    let mut store = Store::open(&args.store.store, options).map_err(|error| failed(&error))?;
    let changed = store.forget(args.before, args.vm.as_deref()).map_err(|error| failed(&error))?;
    output::print(&format!("changed or removed: {}\n", text::count(changed, "file")))?;
    Ok(Exit::Success)
}
