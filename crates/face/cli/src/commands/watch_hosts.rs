//! Watch stores of several hosts, for `watch status --host` and `serve --host`.

#[cfg(feature = "hosts")]
pub use with::*;

#[cfg(not(feature = "hosts"))]
pub use without::*;

#[cfg(not(feature = "hosts"))]
mod without {
    use std::sync::Arc;

    use crate::args::{ReachArgs, WatchStatusArgs};
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
}

#[cfg(feature = "hosts")]
mod with {
    use std::sync::Arc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use bench::plan::Origin;
    use bench::progress::Control;
    use many_hosts::WatchingHosts;
    use watch::{HostStores, Merged};

    use crate::args::{Format, ReachArgs, WatchStatusArgs};
    use crate::commands::run::tool;
    use crate::commands::watch_window::{STATUS_SLICES, window_of};
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::{invite, options};
    use crate::output;
    use crate::text::watch_hosts::HostsStatus;

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

    /// Shows the contents of the stores of all hosts, and the VMs that suffer most.
    pub fn status(args: &WatchStatusArgs) -> Result<Exit, Failure> {
        let watched = Watched::reach(&args.watched.hosts, &args.watched.reach)?;
        let stores = &watched.stores;
        let states = stores.states();
        let window = window_of(stores.bounds(), &args.look.window)?;
        let merged = window.map_or_else(Merged::default, |own| stores.window(own, STATUS_SLICES));
        let sets = stores.newest_sets();
        let notes = stores.notes();
        let is_any_there = notes.iter().any(|note| note.trouble.is_none());
        let status = HostsStatus::new(&notes, &states, &merged, &sets);
        match args.look.format {
            Format::Text => output::show(&status.text())?,
            Format::Json => output::print_json(&status)?,
        }
        Ok(if is_any_there { Exit::Success } else { Exit::Failure })
    }
}
