//! Collects evidence for `watch`: records a disk when an alarm begins, and analyses the trace.
//!
//! Other processes of this program record and analyse. So a recording at full rate never takes time
//! from the thread that empties the watcher's buffers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use units::{Bytes, Nanos};
use watch::{Change, Evidences, Rules};

use crate::args::By;
use crate::commands::record::host;

/// Longest wait for a recording that is told to end. It still has to write its last part.
const END: Duration = Duration::from_secs(3);

/// Runs recordings and analyses of breaches, one at a time.
#[derive(Debug)]
pub struct Recordings {
    evidences: Evidences,
    /// Maximum size of a recording.
    most: Bytes,
    by: By,
    per_day: usize,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    trace: PathBuf,
    /// VM that suffers; `None` if the alarm is about the disk.
    vm: Option<String>,
    is_analysis: bool,
}

impl Recordings {
    /// Prepares the recordings of the store in a directory. `keep` is the size limit of the store,
    /// and `by` distinguishes the initiators.
    pub fn new((store, keep): (&Path, Bytes), by: By, rules: &Rules) -> Self {
        let (evidences, most) = (Evidences::of(store), Evidences::most_of(keep));
        Self { evidences, most, by, per_day: rules.evidence_per_day, running: None }
    }

    /// Begins to record the disk of an alarm, if the alarm's rule asks for a recording.
    pub fn begin(&mut self, change: &Change, now_s: u64) {
        let Some(length) = change.alarm.evidence.filter(|_| change.end.is_none()) else { return };
        if let Err(reason) = self.start(change, length, now_s) {
            crate::say!("no evidence of {}: {reason}", change.alarm.summary());
        }
    }

    fn start(&mut self, change: &Change, length: Nanos, now_s: u64) -> Result<(), String> {
        if self.running.is_some() {
            return Err("an earlier recording has not ended".to_owned());
        }
        let disk = change.alarm.subject.disk();
        let device = Path::new("/sys/block").join(&**disk);
        // A disk that only QEMU knows has no events. A name with a path in it is no disk.
        if disk.contains('/') || !device.exists() {
            return Err(format!("the kernel has no disk {}", untrusted::shown(disk)));
        }
        let begun = self.evidences.begin(&host(), change, (now_s, self.per_day));
        let Some(trace) = begun.map_err(|error| error.to_string())? else {
            return Err(format!("there were already {} in 24 hours", self.per_day));
        };
        let mut command = this_program();
        command.arg("record").arg(device).arg("--out").arg(&trace);
        command.args(["--duration", &length.to_text(), "--by", self.by.name(), "--live", "off"]);
        let child = command.stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let vm = match &change.alarm.subject {
            watch::Subject::Vm { vm, .. } => Some(vm.to_string()),
            watch::Subject::Disk { .. } => None,
        };
        self.running = Some(Running { child, trace, vm, is_analysis: false });
        Ok(())
    }

    /// Handles a process that has ended: analyses a complete recording, or prints the findings of a
    /// complete analysis. Also tells a recording to end when it exceeds its maximum size.
    pub fn look(&mut self) {
        if let Some(own) = self.running.as_ref().filter(|own| !own.is_analysis)
            && Evidences::bytes_of(&own.trace) > self.most.get()
        {
            own.ask_to_end();
        }
        let ended = |own: &mut Running| own.child.try_wait().transpose();
        let Some(Ok(end)) = self.running.as_mut().and_then(ended) else { return };
        let Some(running) = self.running.take() else { return };
        if !end.success() {
            let what = if running.is_analysis { "analysing" } else { "recording" };
            crate::say!("{what} {} ended with {end}", running.trace.display());
        } else if running.is_analysis {
            self.tell(&running.trace);
        } else {
            match analyse(&running) {
                Ok(child) => {
                    self.running = Some(Running { child, is_analysis: true, ..running });
                }
                Err(reason) => {
                    crate::say!("analysing {}: {reason}", running.trace.display());
                }
            }
        }
    }

    fn tell(&self, trace: &Path) {
        let all = self.evidences.list().unwrap_or_default();
        let Some(own) = all.iter().find(|own| own.trace.as_deref() == Some(trace)) else { return };
        let findings = own.findings.first().map_or_else(String::new, |own| format!(" {own}"));
        crate::say!("evidence of {}: {}.{findings}", own.alarm, trace.display());
    }

    /// Ends a running process cleanly, so that the trace is complete up to now.
    pub fn finish(mut self) {
        let Some(running) = &mut self.running else { return };
        running.ask_to_end();
        let begin = Instant::now();
        while begin.elapsed() < END && matches!(running.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = running.child.kill();
        let _ = running.child.wait();
    }
}

impl Running {
    /// Tells the process to end cleanly.
    fn ask_to_end(&self) {
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = kill_process(id, Signal::TERM);
        }
    }
}

/// Starts the analysis of a recording.
fn analyse(running: &Running) -> Result<Child, String> {
    let findings = Evidences::findings_of(&running.trace);
    let out = File::create_new(findings).map_err(|error| error.to_string())?;
    let mut command = this_program();
    command.arg("analyze").arg(&running.trace).args(["--view", "findings", "--format", "json"]);
    if let Some(vm) = &running.vm {
        command.arg(format!("--vm={vm}"));
    }
    command.stdout(out).spawn().map_err(|error| error.to_string())
}

fn this_program() -> Command {
    // An upgrade removes the file of the program that runs; the kernel still has it by this name.
    let program = std::env::current_exe().ok().filter(|path| path.exists());
    let mut command = Command::new(program.unwrap_or_else(|| "/proc/self/exe".into()));
    command.stdin(Stdio::null());
    command
}
