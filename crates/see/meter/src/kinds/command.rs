//! Reads a program that prints a line for each sample: `TIME NUMBER`. A following `J` means that
//! the number is a counter of joules instead of watts.
//!
//! TIME is seconds since 1970 (`date +%s.%N`), or nanoseconds (`date +%s%N`): values of at least
//! 10^15 are nanoseconds, because as seconds they would be the year 31 million. Empty lines and
//! lines that begin with `#` are skipped. The program is run by `sh -c` in a separate process
//! group, which is killed at the end.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::clock::steady;
use crate::kinds::period;
use crate::{About, Fault, Meter, Sample};

/// Smallest TIME that is taken as nanoseconds.
const NANOSECONDS_MIN: f64 = 1e15;

/// Maximum difference of the program's clock: the rule of MLCommons power-dev
/// (`TIME_DELTA_TOLERANCE`). In addition a printed sample may be a period old.
const CLOCK_MAX: Nanos = Nanos::from_millis(800);

/// Longest wait for a line in one call.
const WAIT: Duration = Duration::from_millis(100);

/// Longest wait for the end of a program that closed its output, and for its last error text.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

/// Longest line of a sample.
const LINE_MAX: u64 = 4096;

struct Program {
    child: Child,
    lines: Receiver<String>,
    /// Last line on standard error, and the thread that reads it.
    complaint: Arc<Mutex<String>>,
    errors: JoinHandle<()>,
    command: String,
    period: Nanos,
    counts: bool,
    is_closed: bool,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let mut child = Command::new("sh")
        .args(["-c", &spec.at])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Fault::Unanswered(format!("running sh: {error}")))?;
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || each_line(output, |line| sender.send(line).is_ok()));
    }
    let complaint = Arc::new(Mutex::new(String::new()));
    let (errors, last) = (child.stderr.take(), Arc::clone(&complaint));
    let errors = std::thread::spawn(move || {
        let Some(errors) = errors else { return };
        each_line(errors, |line| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = line;
            true
        });
    });
    let period = period(spec, Nanos::SECOND);
    let command = spec.at.clone();
    Ok(Box::new(Program {
        child,
        lines,
        complaint,
        errors,
        command,
        period,
        counts: false,
        is_closed: false,
    }))
}

/// Calls `take` for every line until the end of input, or until it returns false.
fn each_line(input: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !take(String::from_utf8_lossy(&line).trim().to_owned()) => return,
            Ok(_) => {}
        }
    }
}

impl Program {
    fn sample(&mut self, line: &str) -> Result<Sample, Fault> {
        let (wall_ns, value, is_counter) = parsed(line)?;
        let (at, ago) = steady(wall_ns);
        let limit = self.period.saturating_add(CLOCK_MAX);
        if ago.unsigned_abs() > u128::from(limit.0) {
            #[expect(clippy::cast_precision_loss, reason = "only told")]
            return Err(Fault::Clock { ahead_s: -(ago as f64) / 1e9, limit });
        }
        self.counts |= is_counter;
        let sample = if is_counter { Sample::joules(at, value) } else { Sample::watts(at, value) };
        Ok(sample.told(wall_ns))
    }

    /// Returns the exit status, if the program has ended. The process stays unreaped until the end,
    /// so that its group id is not reused.
    fn how(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.group()?), options).ok()??;
        let exit = status.exit_status().map(|code| format!("exit status: {code}"));
        exit.or_else(|| status.terminating_signal().map(|signal| format!("signal: {signal}")))
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn ended(&self) -> Fault {
        // Its output closes a moment before it ends, and before its last error text is read.
        let until = Instant::now() + LAST_WORDS_MAX;
        while !(self.errors.is_finished() && self.how().is_some()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let how = self.how().unwrap_or_else(|| "it closed its output".to_owned());
        let said = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let said =
            if said.is_empty() { String::new() } else { format!(": {}", untrusted::shown(&said)) };
        Fault::Ended(format!("{how}{said}"))
    }
}

/// Parses a line: time of day in nanoseconds, the number, and true for a counter.
fn parsed(line: &str) -> Result<(i128, f64, bool), Fault> {
    let wrong = || Fault::Nonsense(format!("\"{}\" is no TIME WATTS", untrusted::shown(line)));
    let mut words = line.split_whitespace();
    let (time, value) = words.next().zip(words.next()).ok_or_else(wrong)?;
    let is_counter = match words.next() {
        None | Some("W") => false,
        Some("J") => true,
        Some(_) => return Err(wrong()),
    };
    let value = value.parse::<f64>().map_err(|_| wrong())?;
    Ok((nanoseconds(time).ok_or_else(wrong)?, value, is_counter))
}

/// Parses a time exactly to the nanosecond, which a double cannot hold.
fn nanoseconds(time: &str) -> Option<i128> {
    let rough: f64 = time.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0)?;
    if rough >= NANOSECONDS_MIN {
        return time.parse().ok();
    }
    let (whole, part) = time.split_once('.').unwrap_or((time, ""));
    let part = format!("{part:0<9}");
    let whole = whole.parse::<i128>().ok()?;
    Some(whole * 1_000_000_000 + part.get(..9)?.parse::<i128>().ok()?)
}

impl Meter for Program {
    fn about(&self) -> About {
        About {
            // The step is that of the printed numbers, which is unknown.
            counter_step: self.counts.then_some(0.0),
            ..About::measured(format!("the command {}", self.command), self.period)
        }
    }

    fn comes(&self) -> bool {
        true
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        loop {
            match self.lines.recv_timeout(WAIT) {
                Ok(line) if line.is_empty() || line.starts_with('#') => {}
                Ok(line) => return self.sample(&line).map(|sample| vec![sample]),
                Err(RecvTimeoutError::Timeout) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    fn close(&mut self) -> Result<(), Fault> {
        // Once: after it is reaped, its group id may belong to another process.
        if !std::mem::replace(&mut self.is_closed, true) {
            if let Some(group) = self.group() {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_time_and_watts_or_joules() {
        let ns = 1_700_000_000_123_456_789_i128;
        assert_eq!(parsed("1700000000.123456789 42.5"), Ok((ns, 42.5, false)));
        assert_eq!(parsed("1700000000123456789 42.5 W"), Ok((ns, 42.5, false)));
        assert_eq!(parsed("1700000000 7 J"), Ok((1_700_000_000_000_000_000, 7.0, true)));
        for line in ["42.5", "now 42.5", "1700000000 many", "1700000000 1 kW", "nan 1", "-1 1"] {
            assert!(matches!(parsed(line), Err(Fault::Nonsense(_))), "{line}");
        }
    }
}
