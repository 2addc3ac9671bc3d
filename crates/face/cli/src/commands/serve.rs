//! `serve`: shows runs in a browser.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::sample::SampleOptions;
use page_server::{Door, Library, Provider, Server, Shelf};
use run_store::rundir::StoredRun;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use units::Nanos;
use view::document::{RunKind, RunRow};
use watch::{HostStores, HostTrouble};

use crate::args::ServeArgs;
use crate::commands::runs;
use crate::commands::watch_hosts::Watched;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::page::{TOKEN, say_token};
use crate::push::Pushing;
use crate::{door, output};

/// Time for which an inherited page is served after the last visit.
const KEPT: Duration = Duration::from_secs(600);
/// Interval of checks for visitors.
const LOOK: Duration = Duration::from_secs(1);

/// Serves until Ctrl-C.
pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    if let Some(host) = &args.inherited {
        return inherited(args, host);
    }
    let (library, path, watched) = library(args)?;
    let runs = library.runs().map_err(|error| Failure::from_error(Exit::Failure, &error))?;
    let listen = args.listen.clone().unwrap_or_default();
    let door = door::open(&listen, args.token.token_file.as_deref())?;
    let server = start(door, Arc::clone(&library))?;
    let _pushing = Pushing::begin(&library);
    let _sample = runs.runs.is_empty().then(|| Sample::show(&library)).flatten();
    // Traces and watched hosts are named one by one, and lie in no directory of runs.
    let is_named = !runs.runs.is_empty() && runs.runs.iter().all(is_observed_row);
    let place = if is_named { String::new() } else { format!(" of {}", runs.base) };
    let hosts = watched.as_ref().map_or(1, |watched| watched.stores.names().len());
    crate::say!("{}{place}; Ctrl-C ends it", counted(&runs.runs, hosts));
    if let Some(watched) = &watched {
        tell_hosts(&watched.stores);
    }
    say_token(&server);
    output::print(&format!("{}\n", server.url(&path)))?;
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    signals.forever().next();
    Ok(Exit::Success)
}

fn is_observed_row(row: &RunRow) -> bool {
    matches!(row.kind, RunKind::Recorded | RunKind::Watched)
}

/// Prints when a host is left out, and when it is shown again.
fn tell_hosts(stores: &Arc<HostStores>) {
    let stores = Arc::clone(stores);
    let mut before: Vec<Option<HostTrouble>> = vec![None; stores.names().len()];
    let mut tell = move || {
        for (note, before) in stores.notes().into_iter().zip(&mut before) {
            if note.trouble == *before {
                continue;
            }
            match &note.trouble {
                Some(trouble) => {
                    let text = untrusted::shown(&trouble.text);
                    crate::say!("host {}: left out: {text}", note.host);
                    if let Some(hint) = &trouble.hint {
                        crate::say!("hint: {}", untrusted::shown(hint));
                    }
                }
                None => crate::say!("host {} is no longer left out", note.host),
            }
            *before = note.trouble;
        }
    };
    tell();
    let until_the_end = move || loop {
        std::thread::sleep(LOOK);
        tell();
    };
    // Without a thread the page tells it all the same.
    let _ = std::thread::Builder::new().name("hosts".to_owned()).spawn(until_the_end);
}

/// Counts the rows as text: `3 runs`, `3 runs and 1 trace`, `1 watched host`. One row may stand for
/// several hosts (`hosts_of_one`).
fn counted(rows: &[RunRow], hosts_of_one: usize) -> String {
    let of = |kind| rows.iter().filter(|row| row.kind == kind).count();
    let (traces, hosts) = (of(RunKind::Recorded), of(RunKind::Watched));
    let others = rows.len() - traces - hosts;
    let hosts = (hosts + hosts_of_one).saturating_sub(1);
    let hosts = if rows.len() == traces + others { 0 } else { hosts };
    let counts = [(others, "run"), (traces, "trace"), (hosts, "watched host")];
    let words = counts.iter().filter(|(number, _)| *number > 0);
    let words = words.map(|(number, noun)| crate::text::count(*number as u64, noun));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "0 runs".to_owned() } else { words.join(" and ") }
}

fn start(door: Door, library: Arc<Library>) -> Result<Server, Failure> {
    Server::start(door, library)
        .map_err(|error| Failure::new(Exit::Failure, format!("starting the server: {error}")))
}

/// Opens the served runs and traces. Also returns the path of the first page: the page of the only
/// run or trace, or else the list.
fn library(args: &ServeArgs) -> Result<(Arc<Library>, String, Option<Watched>), Failure> {
    let hosts = &args.watched.hosts;
    let reach = || Watched::reach(hosts, &args.watched.reach());
    let watched = (!hosts.is_empty()).then(reach).transpose()?;
    let places = args.places.iter().map(String::as_str);
    let (traces, others): (Vec<&str>, Vec<&str>) =
        places.partition(|place| is_observed(Path::new(place)));
    let shelf = match others.as_slice() {
        [] if !traces.is_empty() || watched.is_some() => Shelf::Some(Vec::new()),
        others => shelf(args, others)?,
    };
    let of_run = first_path(&shelf);
    let library = Library::new(shelf);
    let mut ids = Vec::new();
    for place in traces {
        let path = std::path::absolute(place)
            .map_err(|error| Failure::new(Exit::Usage, format!("{place}: {error}")))?;
        let id = if watch::Archive::is_store(&path) {
            library.add_watched(&path).map_err(|error| Failure::from_error(Exit::Failure, &error))
        } else {
            library.add_trace(&path).map_err(|error| Failure::from_error(Exit::Failure, &error))
        };
        ids.push(id?);
    }
    ids.extend(watched.iter().map(|own| library.add_watched_hosts(Arc::clone(&own.stores))));
    let path = match (ids.as_slice(), others.as_slice()) {
        ([], _) => of_run,
        ([id], []) => format!("/run/{id}"),
        _ => "/".to_owned(),
    };
    Ok((Arc::new(library), path, watched))
}

/// Returns true for a recorded trace and for the store of a watched host.
fn is_observed(path: &Path) -> bool {
    trace::store::is_store(path) || watch::Archive::is_store(path)
}

/// Finds the runs to serve. A single directory that is not a run is a directory of runs; any other
/// text names a run.
fn shelf(args: &ServeArgs, places: &[&str]) -> Result<Shelf, Failure> {
    let is_base = |path: &Path| {
        path.is_dir() && canonical(path).is_some_and(|path| StoredRun::at(&path).is_none())
    };
    match places {
        [] => Ok(Shelf::All(runs::base(args.out.as_deref())?)),
        [one] if is_base(Path::new(one)) => {
            let base = std::path::absolute(one);
            Ok(Shelf::All(base.unwrap_or_else(|_| PathBuf::from(one))))
        }
        several => {
            let open = |name: &&str| {
                runs::open(args.out.as_deref(), name).map(|run| run.path().to_owned())
            };
            Ok(Shelf::Some(several.iter().map(open).collect::<Result<_, _>>()?))
        }
    }
}

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Returns the path of the only run's page, or of the list.
fn first_path(shelf: &Shelf) -> String {
    match shelf {
        Shelf::Some(paths) if paths.len() == 1 => StoredRun::at(&paths[0])
            .map_or_else(|| "/".to_owned(), |run| format!("/run/{}", run.id())),
        _ => "/".to_owned(),
    }
}

/// Sample run, shown while there is no other run. Removed when dropped.
struct Sample(PathBuf);

impl Sample {
    fn show(library: &Library) -> Option<Self> {
        let base = std::env::temp_dir().join(format!("tilemark-sample-{}", std::process::id()));
        std::fs::create_dir(&base).ok()?;
        let sample = Self(base.clone());
        let options = SampleOptions {
            base,
            tile: "datacenter".to_owned(),
            tiles: 6,
            time: Nanos::from_secs(1800),
            slice: Nanos::from_secs(1),
            seed: 1,
            is_empty: false,
        };
        let made = bench::run::sample(&options, None).ok()?;
        library.set_sample(StoredRun::at(&made.directory)?).ok()?;
        crate::say!("a sample run is shown until there is a real one");
        Some(sample)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Continues to serve for a run that has ended, until there were no visitors for a while.
fn inherited(args: &ServeArgs, host: &str) -> Result<Exit, Failure> {
    // Ctrl-C and the end of the terminal are meant for other processes. The call fails if this
    // process already leads a session, which is fine.
    let _ = rustix::process::setsid();
    let taken = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("standard input is not a listening socket: {error}"))
    };
    let address = rustix::stdio::stdin();
    let address = address.try_clone_to_owned().map_err(|error| taken(&error))?;
    let token = std::env::var(TOKEN).ok();
    let door = Door::inherited(TcpListener::from(address), host, token);
    let door = door.map_err(|error| taken(&error))?;
    let (library, ..) = library(args)?;
    let server = start(door, library)?;
    let begun = Instant::now();
    while server.idle().unwrap_or_else(|| begun.elapsed()) < KEPT {
        std::thread::sleep(LOOK);
    }
    Ok(Exit::Success)
}
