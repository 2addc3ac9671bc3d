//! Watch stores of several hosts, for the subcommands of `watch` and for `serve`.

#[cfg(feature = "hosts")]
pub use with::*;

#[cfg(not(feature = "hosts"))]
pub use without::*;

#[cfg(not(feature = "hosts"))]
mod without {
    use std::sync::Arc;

    use crate::args::{
        ReachArgs, WatchEvidenceArgs, WatchExportArgs, WatchNeighboursArgs, WatchStatusArgs,
    };
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::absent;

    /// Stand-in for a build without hosts.
    #[derive(Debug)]
    pub struct Watched {
        pub stores: Arc<watch::HostStores>,
    }

    impl Watched {
        pub fn reach(_: &[String], _: &ReachArgs) -> Result<Self, Failure> {
            Err(absent())
        }
    }

    pub fn status(_: &WatchStatusArgs) -> Result<Exit, Failure> {
        Err(absent())
    }

    pub fn export(_: &WatchExportArgs) -> Result<Exit, Failure> {
        Err(absent())
    }

    pub fn neighbours(_: &WatchNeighboursArgs) -> Result<Exit, Failure> {
        Err(absent())
    }

    pub fn evidence(_: &WatchEvidenceArgs) -> Result<Exit, Failure> {
        Err(absent())
    }
}

#[cfg(feature = "hosts")]
mod with {
    use std::sync::Arc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use bench::plan::Origin;
    use bench::progress::Control;
    use many_hosts::WatchingHosts;
    use watch::{HostStores, Merged};

    use crate::args::{
        Format, ReachArgs, WatchEvidenceArgs, WatchExportArgs, WatchHostsArgs, WatchNeighboursArgs,
        WatchStatusArgs, WindowArgs,
    };
    use crate::commands::run::tool;
    use crate::commands::watch_show::{NEIGHBOUR_SLICES, Rows, show_neighbours};
    use crate::commands::watch_window::{STATUS_SLICES, window_of};
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::{invite, options};
    use crate::output;
    use crate::text::neighbours::NeighbourDocument;
    use crate::text::watch_evidence::HostsEvidence;
    use crate::text::watch_hosts::{HostNoteRow, HostsStatus};

    /// Watched hosts, which stay connected as long as this value lives.
    #[derive(Debug)]
    pub struct Watched {
        /// Stores of the hosts.
        pub stores: Arc<HostStores>,
        _hosts: WatchingHosts,
    }

    impl Watched {
        /// Connects to the hosts. Hosts that do not join in time are left out until they join.
        pub fn reach(hosts: &[String], reach: &ReachArgs) -> Result<Self, Failure> {
            let options = options(hosts, Origin::Flag, reach)?;
            let tell = &mut invite(reach);
            let name = format!("watch-{}", std::process::id());
            let reached = WatchingHosts::open(&name, &options, &tool(), tell)?;
            // Ctrl-C ends this process at once, and agents end without it.
            reached.wait(&Control::default())?;
            let stores = HostStores::new(reached.stores(&options.hosts), now_s);
            Ok(Self { stores: Arc::new(stores), _hosts: reached })
        }
    }

    fn now_s() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
    }

    /// Connects to the hosts of an option.
    fn reach(args: &WatchHostsArgs) -> Result<Watched, Failure> {
        Watched::reach(&args.hosts, &args.reach)
    }

    /// Returns begin and end of a window of the hosts' data, in seconds since 1970; `None` without
    /// data.
    fn bounds(stores: &HostStores, args: &WindowArgs) -> Result<Option<(u64, u64)>, Failure> {
        // The hosts are asked for their states, from which the stores know the bounds.
        stores.states();
        window_of(stores.bounds(), args)
    }

    /// Returns the exit code of an answer: failure if no host is in it.
    fn exit(stores: &HostStores) -> Exit {
        let is_any_there = stores.notes().iter().any(|note| note.trouble.is_none());
        if is_any_there { Exit::Success } else { Exit::Failure }
    }

    /// Reads a window of the hosts' stores, and reports the hosts that are left out.
    fn long_window(
        stores: &HostStores,
        window: &WindowArgs,
        slices: u64,
    ) -> Result<Merged, Failure> {
        let window = bounds(stores, window)?;
        let merged = window.map_or_else(Merged::default, |own| stores.long_window(own, slices));
        warn_of_hosts(stores);
        if merged.unreadable > 0 {
            crate::say!(
                "files that could not be read: {}; their time is left out",
                merged.unreadable
            );
        }
        Ok(merged)
    }

    /// Reports hosts that are left out, or whose times are wrong, on standard error.
    fn warn_of_hosts(stores: &HostStores) {
        for line in stores.notes().iter().flat_map(|note| HostNoteRow::new(note).lines()) {
            crate::say!("{line}");
        }
    }

    /// Writes the slices of a window, or the working sets, of all hosts.
    pub fn export(args: &WatchExportArgs) -> Result<Exit, Failure> {
        let watched = reach(&args.watched)?;
        let stores = &watched.stores;
        let rows = if args.sets {
            // A set is of a whole hour, also where watching began within it.
            let window = bounds(stores, &args.window)?.map(|(from, to)| (from - from % 3600, to));
            let sets = window.map_or_else(Vec::new, |own| stores.long_sets(own));
            warn_of_hosts(stores);
            Rows::HostSets(sets)
        } else {
            Rows::Slices(long_window(stores, &args.window, args.slices)?.into())
        };
        let exit = exit(stores);
        if exit == Exit::Success {
            rows.write(args)?;
        }
        Ok(exit)
    }

    /// Names the VMs of all hosts whose I/O rises together with the latency of a VM.
    pub fn neighbours(args: &WatchNeighboursArgs) -> Result<Exit, Failure> {
        let watched = reach(&args.watched)?;
        let stores = &watched.stores;
        let merged = long_window(stores, &args.look.window, NEIGHBOUR_SLICES)?;
        let exit = exit(stores);
        if exit == Exit::Success {
            let notes = stores.notes();
            let document = |vm: &str, found: &_| NeighbourDocument::of_hosts(vm, found, &notes);
            show_neighbours(&merged.slices, args, document)?;
        }
        Ok(exit)
    }

    /// Lists the recordings of broken limits of all hosts.
    pub fn evidence(args: &WatchEvidenceArgs) -> Result<Exit, Failure> {
        let watched = reach(&args.watched)?;
        let stores = &watched.stores;
        let document = HostsEvidence::new(stores.evidence(), &stores.notes());
        warn_of_hosts(stores);
        let exit = exit(stores);
        match args.format {
            // Without an answer it is unknown whether anything was recorded.
            Format::Text if exit == Exit::Success => output::show(&document.text())?,
            Format::Text => {}
            Format::Json => output::print_json(&document)?,
        }
        Ok(exit)
    }

    /// Shows the contents of the stores of all hosts, and the VMs that suffer most.
    pub fn status(args: &WatchStatusArgs) -> Result<Exit, Failure> {
        let watched = reach(&args.watched)?;
        let stores = &watched.stores;
        let states = stores.states();
        let window = window_of(stores.bounds(), &args.look.window)?;
        let merged = window.map_or_else(Merged::default, |own| stores.window(own, STATUS_SLICES));
        let sets = stores.newest_sets();
        let notes = stores.notes();
        let status = HostsStatus::new(&notes, &states, &merged, &sets);
        match args.look.format {
            Format::Text => output::show(&status.text())?,
            Format::Json => output::print_json(&status)?,
        }
        Ok(exit(stores))
    }
}
