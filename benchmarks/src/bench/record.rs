//! Measures how much `tilemark record` reduces a load that it watches.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::device::RamDevice;
use super::pairs::scratch;
use super::record_fio::{disk_of, make_file};
use super::switched::{self, Counter, Windows};
use super::{Figure, tilemark};

/// Windows of the measurement. The recorder reads the kernel's buffers every 25 ms, so events that
/// were recorded before a switch-off are soon read.
pub(super) const WINDOWS: Windows =
    Windows { pairs: 150, length: Duration::from_millis(200), settle: Duration::from_millis(60) };
/// Size of reads of which about 100,000 each second keep one core busy.
const BLOCK_BYTES: u32 = 32 << 10;
/// Length of the load, longer than all windows; it is ended when they are over.
const LOAD_S: u32 = 600;
const START_TRIES: u32 = 200;
const START_WAIT: Duration = Duration::from_millis(25);
/// Time over which the recorder's own cost is measured.
const WHOLE: Duration = Duration::from_secs(5);
const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Measures the overhead of recording a disk that is limited by itself and not by the processor:
/// the disk of the temporary directory, 4 KiB random reads with 32 outstanding. The trace is
/// written to the same disk.
pub(crate) fn on_disk(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let disk = disk_of(&out)?;
    let file = out.join("load");
    make_file(&file)?;
    let _load = Load::start(&file, &["--bs=4k", "--iodepth=32", "--size=512M"])?;
    let counter = Counter::of(&disk)?;
    let recording = Recording::start(&disk, &out.join("trace.tmt"))?;
    let events = recording.events()?;
    let whole = switched::measure(&counter, WINDOWS, |is_on| switch(&events, is_on))?;
    recording.stop()?;
    let nothing = switched::measure(&counter, WINDOWS, |_| Ok(()))?;
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(format!("{name}.overhead_percent"), whole.percent, "%"),
        Figure::new(format!("{name}.overhead_error_percent"), whole.error, "%"),
        Figure::new(format!("{name}.nothing_percent"), nothing.percent, "%"),
        Figure::new(format!("{name}.iops_alone"), whole.alone_per_s, "1/s"),
    ])
}

/// Measures the overhead of recording on one load without a pause, while the recording's events are
/// switched on and off. The same events without a reader show the kernel's own share.
pub(crate) fn overhead(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    fill(&device.path)?;
    let out = scratch()?;
    let _load = Load::of_one_core(&device.path)?;
    let counter = Counter::of(&device.path)?;
    let recording = Recording::start(&device.path, &out.join("trace.tmt"))?;
    let events = recording.events()?;
    let whole = switched::measure(&counter, WINDOWS, |is_on| switch(&events, is_on))?;
    // It takes the filters of the recording's events, which go with it.
    let unread = Unread::new(&events)?;
    recording.stop()?;
    // Its own cost without a pause.
    let recording = Recording::start(&device.path, &out.join("whole.tmt"))?;
    std::thread::sleep(WHOLE);
    let report = recording.stop()?;
    let kernel = switched::measure(&counter, WINDOWS, |is_on| switch(&unread.events, is_on))?;
    let nothing = switched::measure(&counter, WINDOWS, |_| Ok(()))?;
    std::fs::remove_dir_all(&out)?;
    let of_report = |field: &str| report[field].as_f64().with_context(|| field.to_owned());
    Ok(vec![
        Figure::new(format!("{name}.overhead_percent"), whole.percent, "%"),
        Figure::new(format!("{name}.overhead_error_percent"), whole.error, "%"),
        Figure::new(format!("{name}.kernel_percent"), kernel.percent, "%"),
        Figure::new(format!("{name}.kernel_error_percent"), kernel.error, "%"),
        Figure::new(format!("{name}.nothing_percent"), nothing.percent, "%"),
        Figure::new(format!("{name}.iops_alone"), whole.alone_per_s, "1/s"),
        Figure::new(format!("{name}.core_percent"), of_report("core_percent")?, "%"),
        Figure::new(format!("{name}.lost_events"), of_report("lost_events")?, "count"),
    ])
}

pub(super) fn switch(events: &[PathBuf], is_on: bool) -> Result<()> {
    for event in events {
        std::fs::write(event.join("enable"), if is_on { "1" } else { "0" })
            .with_context(|| event.display().to_string())?;
    }
    Ok(())
}

/// A tracing instance with events that nobody reads.
pub(super) struct Unread {
    place: PathBuf,
    pub(super) events: Vec<PathBuf>,
}

impl Unread {
    /// Switches on the same events as in another instance.
    pub(super) fn new(of: &[PathBuf]) -> Result<Self> {
        let place = Path::new(INSTANCES).join(format!("xtask-{}", std::process::id()));
        std::fs::create_dir(&place).context("an instance of our own")?;
        let ours = |event: &PathBuf| Some(place.join("events/block").join(event.file_name()?));
        let unread = Self { events: of.iter().filter_map(ours).collect(), place };
        std::fs::write(unread.place.join("trace_clock"), "mono")?;
        for (event, theirs) in unread.events.iter().zip(of) {
            let filter = std::fs::read_to_string(theirs.join("filter"))?;
            if filter.trim() != "none" {
                std::fs::write(event.join("filter"), filter)?;
            }
        }
        Ok(unread)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = switch(&self.events, false);
        if let Err(error) = std::fs::remove_dir(&self.place) {
            eprintln!("removing {}: {error}", self.place.display());
        }
    }
}

/// A load that runs until it is dropped.
pub(super) struct Load(Child);

impl Load {
    /// Starts reads that keep one core busy.
    pub(super) fn of_one_core(device: &Path) -> Result<Self> {
        let block = format!("--bs={BLOCK_BYTES}");
        let batches = ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"];
        Self::start(device, &[&[&*block, "--iodepth=16", "--size=1G"][..], &batches].concat())
    }

    pub(super) fn start(target: &Path, shape: &[&str]) -> Result<Self> {
        let child = Command::new("fio")
            .args(["--name=load", "--ioengine=io_uring", "--direct=1", "--fixedbufs"])
            .args(["--registerfiles", "--norandommap", "--randrepeat=0", "--time_based"])
            .args(["--rw=randread", "--readonly"])
            .args(shape)
            .arg(format!("--runtime={LOAD_S}"))
            .arg(format!("--filename={}", target.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting fio")?;
        Ok(Self(child))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // fio ends its worker processes when it is interrupted, not when it is killed.
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// Fills the device with data that compresses to half, so that reads of a zram device have to
/// decompress.
pub(super) fn fill(device: &Path) -> Result<()> {
    let status = Command::new("fio")
        .args(["--name=fill", "--rw=write", "--bs=1M", "--direct=1", "--size=1G"])
        .args(["--buffer_compress_percentage=50", "--refill_buffers"])
        .arg(format!("--filename={}", device.display()))
        .stdout(Stdio::null())
        .status()
        .context("starting fio")?;
    ensure!(status.success(), "filling {} ended with {status}", device.display());
    Ok(())
}

/// A running `tilemark record`.
pub(super) struct Recording(Child);

impl Recording {
    pub(super) fn start(device: &Path, trace: &Path) -> Result<Self> {
        let mut command = Command::new(tilemark::binary()?);
        command.arg("record").arg(device).arg("--out").arg(trace);
        command.args(["--live", "line", "--format", "json"]);
        Self::spawn(&mut command)
    }

    /// Starts a command that traces, and waits until it does.
    pub(super) fn spawn(command: &mut Command) -> Result<Self> {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let recording = Self(command.spawn().context("starting tilemark")?);
        for _ in 0..START_TRIES {
            if recording.is_tracing() {
                return Ok(recording);
            }
            std::thread::sleep(START_WAIT);
        }
        let output = recording.end();
        anyhow::bail!("tilemark did not trace: {output:?} (it needs root and tracefs)")
    }

    /// Returns true if the recorder's tracing instance exists and is switched on.
    fn is_tracing(&self) -> bool {
        let is_on = |path: PathBuf| {
            std::fs::read_to_string(path.join("tracing_on")).is_ok_and(|text| text.trim() == "1")
        };
        self.instance().is_some_and(is_on)
    }

    fn instance(&self) -> Option<PathBuf> {
        let prefix = format!("tilemark-{}-", self.0.id());
        let ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
        };
        let mut entries = std::fs::read_dir(INSTANCES).ok()?.flatten();
        entries.by_ref().map(|entry| entry.path()).find(ours)
    }

    /// Returns the directories of the events that the recorder has switched on.
    pub(super) fn events(&self) -> Result<Vec<PathBuf>> {
        let all = self.instance().context("its instance is gone")?.join("events/block");
        let is_on = |path: &PathBuf| {
            std::fs::read_to_string(path.join("enable")).is_ok_and(|text| text.trim() == "1")
        };
        Ok(std::fs::read_dir(all)?.flatten().map(|entry| entry.path()).filter(is_on).collect())
    }

    /// Returns the id of the process.
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends the process as Ctrl-C does and returns its output.
    pub(super) fn end(self) -> Result<Vec<u8>> {
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status()?;
        let output = self.0.wait_with_output()?;
        ensure!(output.status.success(), "tilemark ended with {}", output.status);
        Ok(output.stdout)
    }

    /// Ends a recording and returns the document that it printed.
    pub(super) fn stop(self) -> Result<Value> {
        serde_json::from_slice(&self.end()?).context("tilemark record's JSON")
    }
}
