//! `analyze` over hosts: each host analyzes its own trace, and this host merges the sums.

use crate::args::AnalyzeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(not(feature = "hosts"))]
pub fn run(_: &AnalyzeArgs, _: &[::analyze::View]) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(feature = "hosts")]
pub use with::run;

#[cfg(feature = "hosts")]
mod with {
    use std::num::NonZeroUsize;
    use std::path::Path;

    use ::analyze::{
        Analysis, Filter, HostPart, HostsAnalysis, Limit, Options, Settings, View, analyse_hosts,
        hosts_text,
    };
    use ::many_hosts::{Controller, FoldOrder, Name};
    use bench::plan::Origin;
    use bench::progress::Control;

    use super::{AnalyzeArgs, Exit, Failure};
    use crate::args::AnalyzeFormat;
    use crate::commands::analyze::{direction, write};
    use crate::commands::run::tool;
    use crate::gathering::{invite, options};
    use crate::output;

    /// Analyzes the recording on every host, and prints the merged answer and each host's.
    pub fn run(args: &AnalyzeArgs, views: &[View]) -> Result<Exit, Failure> {
        let recording = recording(args)?;
        let gathered = options(&args.seen.hosts, Origin::Flag, &args.seen.reach)?;
        let control = Control::default();
        let tell = &mut invite(&args.seen.reach);
        let name = format!("analyze-{}", std::process::id());
        let controller = Controller::gather(&name, &gathered, &tool(), &control, tell)?;
        if let Some(into) = &args.collect.collect {
            for brought in controller.collect(&recording, into)? {
                crate::say!(
                    "{}: {} from host {}, {} files, SHA-256 checked",
                    brought.directory.display(),
                    brought.bytes,
                    brought.host,
                    brought.files
                );
            }
        }
        let limit = args.limit.map_or_else(Limit::usual, Limit::asked);
        let parts = controller.fold(&order(args, &recording, views, &limit))?;
        check_names(args, &parts)?;
        let filter = Filter {
            direction: direction(args),
            from: args.from,
            to: args.to,
            ..Filter::default()
        };
        let settings = Settings { slice: args.slice, ..Settings::default() };
        let tool = format!("tilemark {}", env!("CARGO_PKG_VERSION"));
        let options = Options { tool, views: views.to_vec(), limit, filter };
        let answer = analyse_hosts(recording.as_str(), parts, &settings, &options);
        let mut answer = answer.map_err(|(host, error)| {
            Failure::new(Exit::Failure, format!("host {host}: {error}"))
        })?;
        name_hosts(&mut answer, &args.seen.hosts);
        tell_all(args, &answer, views)?;
        Ok(Exit::Success)
    }

    fn recording(args: &AnalyzeArgs) -> Result<Name, Failure> {
        let wrong = |message: &str| Err(Failure::new(Exit::Usage, message));
        if args.to_workload.is_some() {
            return wrong("--to-workload needs single I/Os, which stay on the hosts")
                .map_err(|failure| failure.hint(Some("bring the trace here with --collect DIR")));
        }
        if args.trace_format.is_some() {
            return wrong(
                "--trace-format is for files; traces on hosts are always in Tilemark's format",
            );
        }
        let text = args.trace.display().to_string();
        text.parse().map_err(|error| {
            let hint = "with --host, give the name that tilemark record --host ... printed";
            Failure::new(Exit::Usage, format!("{error}")).hint(Some(hint))
        })
    }

    fn order(args: &AnalyzeArgs, recording: &Name, views: &[View], limit: &Limit) -> FoldOrder {
        FoldOrder {
            recording: recording.clone(),
            // The controller replaces this with each host's own part.
            host: recording.clone(),
            views: views.iter().map(|view| view.name().to_owned()).collect(),
            limit: (limit.ns, limit.source.clone()),
            slice_ns: args.slice.0,
            vms: args.vm.clone(),
            devices: args.device.clone(),
            direction: direction(args),
            from_ns: args.from.map(|from| from.0),
            to_ns: args.to.map(|to| to.0),
            threads: args.threads.map(NonZeroUsize::get),
        }
    }

    /// Refuses names of VMs or devices that no host has.
    fn check_names(args: &AnalyzeArgs, parts: &[HostPart]) -> Result<(), Failure> {
        let names = |of: fn(&HostPart) -> &Vec<String>| -> Vec<String> {
            let own = |part: &HostPart, name: &String| format!("{}/{name}", part.host);
            let named = parts.iter().flat_map(|part| of(part).iter().map(move |name| (part, name)));
            let mut names: Vec<String> =
                named.flat_map(|(part, name)| [name.clone(), own(part, name)]).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let (vms, devices) = (names(|part| &part.vms), names(|part| &part.devices));
        let vms: Vec<&str> = vms.iter().map(String::as_str).collect();
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        for (kind, list, wanted, known) in
            [("VM", "VMs", &args.vm, &vms), ("device", "devices", &args.device, &devices)]
        {
            if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
                let message = format!("{kind} \"{name}\" is on none of the hosts");
                let hint = spec::did_you_mean(name, known, list);
                return Err(Failure::new(Exit::Usage, message).hint(Some(hint)));
            }
        }
        Ok(())
    }

    /// Adds `--host` options to the commands that show the evidence of a finding.
    fn name_hosts(answer: &mut HostsAnalysis, hosts: &[String]) {
        let word = |host: &String| match host.contains([' ', '\'', ';', '$', '&']) {
            true => format!(" --host '{}'", host.replace('\'', r"'\''")),
            false => format!(" --host {host}"),
        };
        let all: String = hosts.iter().map(word).collect();
        let put = |analysis: &mut Analysis, hosts: &str| {
            for finding in &mut analysis.findings {
                let named = format!("tilemark analyze{hosts} ");
                finding.command = finding.command.replacen("tilemark analyze ", &named, 1);
            }
        };
        put(&mut answer.all, &all);
        for (host, given) in answer.hosts.iter_mut().zip(hosts) {
            put(&mut host.analysis, &word(given));
        }
    }

    fn tell_all(args: &AnalyzeArgs, answer: &HostsAnalysis, views: &[View]) -> Result<(), Failure> {
        match (args.format, &args.out) {
            (AnalyzeFormat::Text, _) => output::show(&hosts_text(answer, views)),
            (AnalyzeFormat::Json, _) => output::print_json(answer),
            (AnalyzeFormat::Vscsistats, _) => output::print(&::analyze::vscsi_stats(&answer.all)),
            (format, Some(out)) => {
                write::tables(&answer.all, format, &out.join("all"))?;
                answer.hosts.iter().try_for_each(|host| {
                    write::tables(&host.analysis, format, &Path::new(out).join(&host.host))
                })
            }
            (_, None) => Ok(()),
        }
    }
}
