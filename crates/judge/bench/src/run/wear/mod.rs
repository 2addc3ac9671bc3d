//! Wear of the devices below a run's target, before and after the run, for `env.json`. It is read
//! by smartctl (smartmontools). A device without wear information is listed with the reason.

mod smartctl;

use std::ffi::OsStr;

use run_store::env::{BlockDevice, Environment};
use run_store::run::{Run, Warning};
use run_store::rundir::{RunDir, files};
use serde::Serialize;
use serde_json::Value;

use crate::error::BenchError;
use smartctl::{Missing, Reading, WITHIN};

/// Program that queries devices.
const PROGRAM: &str = "smartctl";
/// Maximum number of devices that are queried, all concurrently. Our choice.
const DEVICES_MAX: usize = 16;
/// Name prefixes of virtual devices, which have no wear.
const VIRTUAL: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "nbd"];

/// Counters of wear; null if the device has no such counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Wear {
    /// Used part of the endurance that the manufacturer states, in percent; it may be above 100.
    pub used_percent: Option<u64>,
    /// Bytes that hosts have written over the life of the device.
    pub written_bytes: Option<u64>,
}

/// Wear of one device before and after a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DeviceWear {
    device: String,
    before: Option<Wear>,
    after: Option<Wear>,
    /// Reason why a reading is missing.
    missing: Option<String>,
}

/// Readings of the devices below a target.
#[derive(Debug, Clone)]
pub struct Wears {
    devices: Vec<DeviceWear>,
}

impl Wears {
    /// Queries the devices of an environment, before the run.
    pub fn before(environment: &Environment) -> Self {
        Self::before_by(PROGRAM.as_ref(), environment)
    }

    fn before_by(program: &OsStr, environment: &Environment) -> Self {
        let devices = environment.storage.devices.iter().filter(|own| is_real(own));
        let names: Vec<&str> = devices.map(|own| own.name.as_str()).take(DEVICES_MAX).collect();
        let devices = names.iter().zip(ask(program, &names)).map(|(name, found)| {
            let (before, missing) = parts(found);
            DeviceWear { device: (*name).to_owned(), before, after: None, missing }
        });
        Self { devices: devices.collect() }
    }

    /// Queries the same devices again after the run, except those that did not answer before.
    fn ask_again(&mut self) {
        self.ask_again_by(PROGRAM.as_ref());
    }

    fn ask_again_by(&mut self, program: &OsStr) {
        let answering = self.devices.iter_mut().filter(|own| own.before.is_some());
        let mut answering: Vec<&mut DeviceWear> = answering.collect();
        let names: Vec<&str> = answering.iter().map(|own| own.device.as_str()).collect();
        let found = ask(program, &names);
        for (own, found) in answering.iter_mut().zip(found) {
            (own.after, own.missing) = parts(found);
        }
    }

    /// Adds the readings to the document of the environment. Without a device nothing is added.
    pub fn describe(&self, environment: &mut Value) {
        if self.devices.is_empty() {
            return;
        }
        if let Some(fields) = environment.as_object_mut() {
            fields.insert("wear".to_owned(), super::json_of(&self.devices));
        }
    }

    /// Returns warnings about devices that lost endurance during the run.
    fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        self.devices.iter().filter_map(DeviceWear::warning)
    }
}

impl DeviceWear {
    fn warning(&self) -> Option<Warning> {
        let (before, after) = (self.before?, self.after?);
        let (from, to) = (before.used_percent?, after.used_percent?);
        if to <= from {
            return None;
        }
        let written = after.written_bytes.zip(before.written_bytes);
        let written = written.and_then(|(after, before)| after.checked_sub(before));
        let written =
            written.map(|bytes| format!(", and {} were written", units::Bytes::new(bytes)));
        Some(Warning {
            id: "device-wear".to_owned(),
            text: format!(
                "{}: {to} % of the rated endurance is used, {from} % before the run{}",
                self.device,
                written.unwrap_or_default()
            ),
            value: Some(format!("{to} %")),
            limit: None,
            hint: Some("a smaller --footprint or a shorter run writes less".to_owned()),
        })
    }
}

/// Stores the wear of the devices after the run, and adds warnings about used endurance.
pub(super) fn note(
    (mut wear, mut environment): (Wears, Value),
    directory: &RunDir,
    run: &mut Run,
) -> Result<(), BenchError> {
    wear.ask_again();
    wear.describe(&mut environment);
    directory.write_json(files::ENV, &environment)?;
    let before = run.warnings.len();
    run.warnings.extend(wear.warnings());
    if run.warnings.len() > before {
        directory.write_run(run)?;
    }
    Ok(())
}

/// Returns true for a whole device that is not a virtual device of the kernel.
fn is_real(device: &BlockDevice) -> bool {
    let is_whole = device.partition_of.is_none() && device.consists_of.is_empty();
    is_whole && !VIRTUAL.iter().any(|prefix| device.name.starts_with(prefix))
}

/// Queries all devices concurrently, so that a hung disk delays a run by at most one time limit.
fn ask(program: &OsStr, names: &[&str]) -> Vec<Result<Wear, Missing>> {
    let readings: Vec<_> = names.iter().map(|name| Reading::start(program, name)).collect();
    let until = std::time::Instant::now() + WITHIN;
    readings.into_iter().map(|reading| reading?.wear(until)).collect()
}

fn parts(found: Result<Wear, Missing>) -> (Option<Wear>, Option<String>) {
    match found {
        Ok(wear) => (Some(wear), None),
        Err(missing) => (None, Some(missing.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn environment(devices: Vec<BlockDevice>) -> Environment {
        let tool = run_store::run::ToolFacts { version: "0".to_owned(), commit: None };
        let mut found = run_store::env::capture("/proc".as_ref(), tool);
        found.storage.devices = devices;
        found
    }

    fn device(name: &str) -> BlockDevice {
        BlockDevice { name: name.to_owned(), ..BlockDevice::default() }
    }

    /// Creates a program that answers with this document for every device.
    fn program(directory: &tempfile::TempDir, document: &str) -> PathBuf {
        let path = directory.path().join("smartctl");
        let text = format!("#!/bin/sh\ncat <<'END'\n{document}\nEND\n");
        std::fs::write(&path, text).expect("written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("a mode");
        path
    }

    fn nvme(percent: u64, units: u64) -> String {
        format!(
            r#"{{"smartctl": {{"exit_status": 0}}, "nvme_smart_health_information_log":
               {{"percentage_used": {percent}, "data_units_written": {units}}}}}"#
        )
    }

    #[test]
    fn endurance_that_a_run_used_is_a_warning_and_recorded() {
        let directory = tempfile::tempdir().expect("a directory");
        let part = BlockDevice { partition_of: Some("nvme0n1".to_owned()), ..device("nvme0n1p1") };
        let host = environment(vec![part, device("nvme0n1"), device("loop3")]);
        let path = program(&directory, &nvme(11, 1000));
        let mut wears = Wears::before_by(path.as_os_str(), &host);
        program(&directory, &nvme(12, 3000));
        wears.ask_again_by(path.as_os_str());
        let warnings: Vec<Warning> = wears.warnings().collect();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert_eq!(warning.id, "device-wear");
        let begin = "nvme0n1: 12 % of the rated endurance is used, 11 % before the run";
        assert!(warning.text.starts_with(begin), "{}", warning.text);
        assert!(warning.text.ends_with(", and 977 MiB were written"), "{}", warning.text);
        let mut document = serde_json::json!({});
        wears.describe(&mut document);
        let written = |own: &str| document["wear"][0][own]["written_bytes"].clone();
        assert_eq!(document["wear"].as_array().map(Vec::len), Some(1), "{document}");
        assert_eq!(
            (written("before"), written("after")),
            (512_000_000.into(), 1_536_000_000.into())
        );
    }

    #[test]
    fn equal_wear_gives_no_warning_and_missing_wear_gives_a_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = program(&directory, &nvme(11, 1000));
        let host = environment(vec![device("nvme0n1")]);
        let mut wears = Wears::before_by(path.as_os_str(), &host);
        wears.ask_again_by(path.as_os_str());
        assert_eq!(wears.warnings().count(), 0);

        let absent = directory.path().join("absent");
        let mut wears = Wears::before_by(absent.as_os_str(), &host);
        wears.ask_again_by(absent.as_os_str());
        let mut document = serde_json::json!({});
        wears.describe(&mut document);
        let own = &document["wear"][0];
        assert!(own["before"].is_null() && own["after"].is_null(), "{own}");
        assert_eq!(own["missing"], "smartctl is not installed");
    }

    #[test]
    fn program_that_hangs_is_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = program(&directory, "");
        std::fs::write(&path, "#!/bin/sh\nexec sleep 1000\n").expect("written");
        let reading = Reading::start(path.as_os_str(), "sda").expect("it starts");
        let found = reading.wear(std::time::Instant::now());
        assert!(matches!(found, Err(Missing::Silent)), "{found:?}");
    }

    #[test]
    fn target_without_a_device_has_no_wear() {
        let mut document = serde_json::json!({});
        Wears::before(&environment(Vec::new())).describe(&mut document);
        assert_eq!(document, serde_json::json!({}));
    }
}
