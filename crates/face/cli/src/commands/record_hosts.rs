//! `record` over hosts: each host records into its own directory.

use crate::args::RecordArgs;
use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(not(feature = "hosts"))]
pub fn run(_: &RecordArgs) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(feature = "hosts")]
pub use with::run;

#[cfg(feature = "hosts")]
mod with {
    use std::process::Child;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use bench::plan::Origin;
    use bench::progress::Control;
    use many_hosts::{Controller, Going, Name, RecordOrder, RecordingState, SenderBy};
    use units::Nanos;

    use super::{Exit, Failure, RecordArgs};
    use crate::args::{By, Format, Live};
    use crate::commands::record;
    use crate::gathering::{invite, options};
    use crate::output;
    use crate::text::{HostRecorded, HostsRecorded, hosts_recorded};

    /// Interval of checks of the hosts' progress.
    const LOOK: Duration = Duration::from_millis(200);
    /// Interval of progress lines.
    const SECOND: Duration = Duration::from_secs(1);

    /// Records on all hosts until the end of the time or a signal, or until a host is lost.
    pub fn run(args: &RecordArgs) -> Result<Exit, Failure> {
        check(args)?;
        let stop = record::stop_flag()?;
        let options = options(&args.seen.hosts, Origin::Flag, &args.seen.reach)?;
        let name = record::stamp();
        let control = Control::default();
        let tell = &mut invite(&args.seen.reach);
        let tool = crate::commands::run::tool();
        let controller = Controller::gather(&name, &options, &tool, &control, tell)?;
        controller.record(&order(args, &name)?)?;
        if args.live != Live::Off {
            let names: Vec<&str> =
                controller.present().iter().map(|host| host.name.as_str()).collect();
            crate::say!("recording {name} on {}; Ctrl-C ends it", names.join(", "));
        }
        let mut child = match record::start(&args.command) {
            Ok(child) => child,
            Err(failure) => {
                controller.end_recordings();
                return Err(failure);
            }
        };
        let told = watch(&controller, args.live, &mut child, || stop.load(Ordering::Relaxed));
        let ended = ended(&controller, name, told, child);
        match args.format {
            Format::Text => output::show(&hosts_recorded(&ended))?,
            Format::Json => output::print_json(&ended)?,
        }
        let is_whole = ended.hosts.iter().all(|host| host.lost.is_none());
        Ok(if is_whole { Exit::Success } else { Exit::Failure })
    }

    fn check(args: &RecordArgs) -> Result<(), Failure> {
        let wrong = |message: &str, hint: &str| {
            Err(Failure::new(Exit::Usage, message).hint(Some(hint.to_owned())))
        };
        if args.pid.is_some() {
            return wrong(
                "--pid works on one host only",
                "with several hosts, use --vm, --cgroup or --by process",
            );
        }
        if args.out.is_some() {
            return wrong(
                "--out is for a trace of this host; traces of other hosts stay there",
                "tilemark analyze --host ... NAME --collect DIR copies them here",
            );
        }
        Ok(())
    }

    fn order(args: &RecordArgs, name: &str) -> Result<RecordOrder, Failure> {
        let name: Name =
            name.parse().map_err(|error| Failure::new(Exit::Failure, format!("{error}")))?;
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // An agent has another working directory.
        let path = |path: &std::path::PathBuf| {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        };
        Ok(RecordOrder {
            recording: name.clone(),
            // The controller replaces this with each host's name.
            host: name,
            controller: format!("{here} (process {})", std::process::id()),
            zero_ns: 0,
            known_to_ns: 0,
            targets: args.targets.iter().map(path).collect(),
            duration_ns: args.duration.map(|duration| duration.0),
            buffer_bytes: args.buffer.get(),
            vm: args.vm.clone(),
            cgroup: args.cgroup.clone(),
            by: match args.by {
                By::Name => SenderBy::Name,
                By::Process => SenderBy::Process,
                By::Cgroup => SenderBy::Cgroup,
            },
        })
    }

    /// Waits until all hosts have ended. If one host ends early, the others are told to end.
    fn watch(
        controller: &Controller,
        live: Live,
        child: &mut Option<Child>,
        is_stopped: impl Fn() -> bool,
    ) -> Vec<RecordingState> {
        let (mut last, mut is_ending) = (Instant::now(), false);
        loop {
            let told = controller.recordings();
            let is_going = told.iter().any(|told| matches!(told, RecordingState::Going(_)));
            if !is_going {
                return told;
            }
            let is_lost = told.iter().any(|told| matches!(told, RecordingState::Lost(_)));
            if !is_ending && (is_stopped() || is_lost || record::has_ended(child)) {
                is_ending = true;
                controller.end_recordings();
            }
            if live != Live::Off && !is_ending && last.elapsed() >= SECOND {
                last = Instant::now();
                line(controller, &told);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Prints the progress of each host.
    fn line(controller: &Controller, told: &[RecordingState]) {
        let mut elapsed = Nanos::ZERO;
        let mut parts = Vec::new();
        for (host, told) in controller.present().iter().zip(told) {
            let RecordingState::Going(Going { elapsed: own, records, lost, .. }) = told else {
                continue;
            };
            elapsed = elapsed.max(*own);
            parts.push(format!("{} {records} I/Os (lost events {lost})", host.name));
        }
        crate::say!("{:>5.0} s  {}", elapsed.as_secs_f64(), parts.join("  "));
    }

    fn ended(
        controller: &Controller,
        recording: String,
        told: Vec<RecordingState>,
        child: Option<Child>,
    ) -> HostsRecorded {
        let moved = controller.clocks_moved();
        let hosts = controller.present().iter().zip(told).zip(moved).map(
            |((host, told), clock_moved_ns)| {
                let (recorded, lost) = match told {
                    RecordingState::Ended(recorded) => (Some(*recorded), None),
                    RecordingState::Lost(why) => (None, Some(why)),
                    RecordingState::Going(_) => {
                        (None, Some("the recording did not end".to_owned()))
                    }
                };
                HostRecorded {
                    host: host.name.clone(),
                    hostname: host.hello.hostname.clone(),
                    clock_known_to_ns: host.clock.uncertainty().0,
                    clock_moved_ns,
                    recorded,
                    lost,
                }
            },
        );
        HostsRecorded {
            schema: "tilemark.hosts-record/1.0",
            recording,
            hosts: hosts.collect(),
            command: child.and_then(|mut child| child.wait().ok()).map(|end| end.to_string()),
        }
    }
}
