//! Resolves options into the settings of the analysis.

use ::analyze::{Filter, Settings};
use trace::TraceInfo;

use super::direction;
use crate::args::AnalyzeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

pub(super) fn settings(args: &AnalyzeArgs, filter: &Filter) -> Settings {
    Settings { slice: args.slice, filter: filter.clone(), ..Settings::default() }
}

/// Makes the filter by time, direction, VM and device. Names that are not in the trace are ignored
/// here.
pub(super) fn filter(args: &AnalyzeArgs, info: &TraceInfo) -> Filter {
    let devices: Vec<&str> = info.devices.iter().map(|device| device.name.as_str()).collect();
    let vms: Vec<&str> = info.vms.iter().map(String::as_str).collect();
    Filter {
        vms: positions(&args.vm, &vms),
        devices: positions(&args.device, &devices),
        direction: direction(args),
        from: args.from,
        to: args.to,
    }
}

/// Returns the positions of the given names among the known ones; `None` if no name was given.
fn positions(wanted: &[String], known: &[&str]) -> Option<Vec<u16>> {
    let is_wanted = |name: &&str| wanted.iter().any(|wanted| wanted == name);
    let found = (0..).zip(known).filter(|(_, name)| is_wanted(name));
    (!wanted.is_empty()).then(|| found.map(|(at, _)| at).collect())
}

/// Refuses names that are not in the trace.
pub(super) fn check_names(args: &AnalyzeArgs, info: &TraceInfo) -> Result<(), Failure> {
    let devices: Vec<&str> = info.devices.iter().map(|device| device.name.as_str()).collect();
    let vms: Vec<&str> = info.vms.iter().map(String::as_str).collect();
    for (kind, list, wanted, known) in
        [("VM", "VMs", &args.vm, &vms), ("device", "devices", &args.device, &devices)]
    {
        let is_unknown = |name: &&String| !known.contains(&name.as_str());
        if let Some(name) = wanted.iter().find(is_unknown) {
            let message = format!("{kind} \"{name}\" is not in {}", args.trace.display());
            let hint = spec::did_you_mean(name, known, list);
            return Err(Failure::new(Exit::Usage, message).hint(Some(hint)));
        }
    }
    Ok(())
}
