//! Reader of the output of `smartctl --json`, with the fields of smartmontools 7.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Wear;

/// Maximum wait for all devices together.
pub(super) const WITHIN: Duration = Duration::from_secs(5);
/// Maximum size of an answer, in bytes. A drive has some 20 KiB. Our choice.
const ANSWER_MAX: u64 = 4 << 20;
/// Size of an NVMe data unit, in bytes: a thousand blocks of 512 bytes (NVMe base specification
/// 2.0, figure 207, "Data Units Written").
const DATA_UNIT_BYTES: u64 = 512_000;

/// Reason why there is no wear information about a device.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missing {
    #[error("smartctl is not installed")]
    NotInstalled,
    #[error("smartctl cannot be started: {0}")]
    NotStarted(io::Error),
    #[error("smartctl did not answer within {} s", WITHIN.as_secs())]
    Silent,
    #[error("the output of smartctl is not a JSON document")]
    NotJson,
    #[error("smartctl says: {0}")]
    Refused(String),
    #[error("the device does not report wear")]
    NotCounted,
}

/// A running smartctl.
#[derive(Debug)]
pub(super) struct Reading {
    process: Child,
    answer: Receiver<Vec<u8>>,
}

impl Reading {
    /// Starts to query a device. A sleeping disk is not woken.
    pub fn start(program: &OsStr, device: &str) -> Result<Self, Missing> {
        let mut command = Command::new(program);
        command.args(["--json", "--nocheck=standby", "--info", "--attributes", "--log=devstat"]);
        command.arg(format!("/dev/{device}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Missing::NotInstalled,
            _ => Missing::NotStarted(error),
        })?;
        let (send, answer) = channel();
        if let Some(stdout) = process.stdout.take() {
            let read = move || {
                let mut bytes = Vec::new();
                // A part of an answer is no JSON document, which is told.
                let _ = stdout.take(ANSWER_MAX).read_to_end(&mut bytes);
                let _ = send.send(bytes);
            };
            let thread = std::thread::Builder::new().name("smartctl".to_owned()).spawn(read);
            if let Err(error) = thread {
                let _ = process.kill();
                let _ = process.wait();
                return Err(Missing::NotStarted(error));
            }
        }
        Ok(Self { process, answer })
    }

    /// Waits for the answer until a given time, and ends the program.
    pub fn wear(mut self, until: Instant) -> Result<Wear, Missing> {
        let patience = until.saturating_duration_since(Instant::now());
        let answer = self.answer.recv_timeout(patience);
        // Its exit code has bits for a disk that is failing, so that the document alone decides.
        let _ = self.process.kill();
        // One that hangs in the kernel is left to it: waiting for it might take for ever.
        let _ =
            if answer.is_ok() { self.process.wait().map(Some) } else { self.process.try_wait() };
        wear_of(&answer.map_err(|_| Missing::Silent)?)
    }
}

/// Extracts the wear from an answer.
pub(super) fn wear_of(answer: &[u8]) -> Result<Wear, Missing> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_| Missing::NotJson)?;
    let wear = of_nvme(&answer).or_else(|| of_ata(&answer)).or_else(|| of_scsi(&answer));
    if let Some(wear) = wear.filter(|wear| *wear != Wear::default()) {
        return Ok(wear);
    }
    let messages = answer["smartctl"]["messages"].as_array().into_iter().flatten();
    let said =
        messages.filter(|own| own["severity"] == "error").find_map(|own| own["string"].as_str());
    Err(said.map_or(Missing::NotCounted, |said| Missing::Refused(said.to_owned())))
}

fn of_nvme(answer: &Value) -> Option<Wear> {
    let log = answer.get("nvme_smart_health_information_log")?;
    let units = log["data_units_written"].as_u64();
    Some(Wear {
        used_percent: log["percentage_used"].as_u64(),
        written_bytes: units.and_then(|units| units.checked_mul(DATA_UNIT_BYTES)),
    })
}

/// Extracts the wear from device statistics of ATA (ACS-4, log 4): pages 1 and 7.
fn of_ata(answer: &Value) -> Option<Wear> {
    let pages = answer.get("ata_device_statistics")?["pages"].as_array()?;
    let value = |name: &str| {
        let mut rows = pages.iter().filter_map(|page| page["table"].as_array()).flatten();
        let row = rows.find(|row| row["name"] == name && row["flags"]["valid"] == true)?;
        row["value"].as_u64()
    };
    let block = answer["logical_block_size"].as_u64().unwrap_or(512);
    Some(Wear {
        used_percent: value("Percentage Used Endurance Indicator"),
        written_bytes: value("Logical Sectors Written").and_then(|own| own.checked_mul(block)),
    })
}

/// Extracts the wear of a SCSI device. Written bytes are `None`, because SCSI only counts them on
/// disks that log errors.
fn of_scsi(answer: &Value) -> Option<Wear> {
    let used_percent = answer.get("scsi_percentage_used_endurance_indicator")?.as_u64();
    Some(Wear { used_percent, written_bytes: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wear(answer: &str) -> Result<Wear, String> {
        wear_of(answer.as_bytes()).map_err(|missing| missing.to_string())
    }

    // Made by hand, of fields that smartmontools documents.
    const NVME: &str = r#"{
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "nvme_smart_health_information_log": {
            "critical_warning": 0, "available_spare": 100, "percentage_used": 3,
            "data_units_read": 12, "data_units_written": 2000000, "host_writes": 77}}"#;
    const ATA: &str = r#"{
        "smartctl": {"version": [7, 3], "exit_status": 64},
        "logical_block_size": 4096,
        "ata_device_statistics": {"pages": [
            {"number": 1, "name": "General Statistics", "table": [
                {"offset": 24, "name": "Logical Sectors Written", "value": 1000, "flags": {"valid": true}}]},
            {"number": 7, "name": "Solid State Device Statistics", "table": [
                {"offset": 8, "name": "Percentage Used Endurance Indicator", "value": 104,
                 "flags": {"valid": true}}]}]}}"#;

    #[test]
    fn drives_of_each_protocol_tell_their_wear() {
        let nvme = Wear { used_percent: Some(3), written_bytes: Some(1_024_000_000_000) };
        assert_eq!(wear(NVME), Ok(nvme));
        // A bit of the exit code tells of errors in the drive's log.
        let ata = Wear { used_percent: Some(104), written_bytes: Some(4_096_000) };
        assert_eq!(wear(ATA), Ok(ata));
        let scsi = r#"{"scsi_percentage_used_endurance_indicator": 9}"#;
        assert_eq!(wear(scsi), Ok(Wear { used_percent: Some(9), written_bytes: None }));
    }

    #[test]
    fn values_that_are_not_valid_are_absent() {
        let hidden = ATA.replace("\"valid\": true", "\"valid\": false");
        assert_eq!(wear(&hidden), Err("the device does not report wear".to_owned()));
        let huge = NVME.replace("2000000", "18446744073709551615");
        assert_eq!(wear(&huge), Ok(Wear { used_percent: Some(3), written_bytes: None }));
    }

    #[test]
    fn reason_of_smartctl_is_kept() {
        let virtio = r#"{"smartctl": {"messages": [
            {"string": "/dev/vda: Unable to detect device type", "severity": "error"}],
            "exit_status": 1}}"#;
        let said = "smartctl says: /dev/vda: Unable to detect device type";
        assert_eq!(wear(virtio), Err(said.to_owned()));
        assert_eq!(wear("{}"), Err("the device does not report wear".to_owned()));
        assert_eq!(
            wear("smartctl 7.3"),
            Err("the output of smartctl is not a JSON document".to_owned())
        );
    }
}
