//! Runs a command to its end; returns its output and its cost.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::Figure;

/// Cost of a finished command, its threads and kernel workers included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub user_s: f64,
    pub system_s: f64,
    /// Largest resident set observed (VmHWM), in bytes.
    pub memory_bytes: f64,
}

/// Runs a command that must succeed; returns its stdout and its cost.
pub(crate) fn run(command: &mut Command) -> Result<(String, Cost)> {
    ended(command, &[0])
}

/// Runs a command that must end with one of these codes. Returns its stdout, and its cost from the
/// kernel's account of ended children.
pub(crate) fn ended(command: &mut Command, codes: &[i32]) -> Result<(String, Cost)> {
    let before = times(std::process::id())?.children;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {command:?}"))?;
    let memory = std::thread::spawn({
        let status = format!("/proc/{}/status", child.id());
        move || watch_memory(&status)
    });
    // stderr is read aside, so that a talkative child cannot block on a full pipe.
    let mut stderr = child.stderr.take().context("stderr is piped")?;
    let talk = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stderr, &mut text).map(|_| text).unwrap_or_default()
    });
    let output = child.wait_with_output()?;
    let talk = talk.join().unwrap_or_default();
    let is_expected = output.status.code().is_some_and(|code| codes.contains(&code));
    ensure!(is_expected, "{command:?} ended with {}: {}", output.status, talk.trim());
    let after = times(std::process::id())?.children;
    let memory_bytes = memory.join().unwrap_or(0.0);
    let cost = Cost { user_s: after.0 - before.0, system_s: after.1 - before.1, memory_bytes };
    Ok((String::from_utf8(output.stdout)?, cost))
}

/// User and system time in seconds, from the kernel's account (10 ms ticks), threads included.
pub(crate) struct Times {
    /// Times of the process alone.
    pub own: (f64, f64),
    /// Times of its children that ended and were waited for.
    pub children: (f64, f64),
}

/// Returns the times of a process so far.
pub(crate) fn times(id: u32) -> Result<Times> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let after_name = stat.rsplit_once(')').context("a name in parentheses")?.1;
    // proc_pid_stat(5): utime, stime, cutime and cstime are fields 14 to 17; the name was field 2.
    let ticks = after_name.split_whitespace().skip(11).take(4).map(str::parse::<f64>);
    let ticks = ticks.collect::<Result<Vec<_>, _>>()?;
    let [user, system, of_children, in_children] = ticks[..] else { bail!("a short {stat}") };
    let seconds = |user, system| (user / TICKS_PER_SECOND, system / TICKS_PER_SECOND);
    Ok(Times { own: seconds(user, system), children: seconds(of_children, in_children) })
}

fn watch_memory(status: &str) -> f64 {
    let mut peak_bytes = 0.0_f64;
    while let Ok(text) = std::fs::read_to_string(status) {
        let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { break };
        let kib = line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0);
        peak_bytes = peak_bytes.max(kib * 1024.0);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    peak_bytes
}

/// Returns the figures that a crate's benchmark prints as lines `figure <name> <value> <unit>`.
pub(crate) fn figures(package: &str, bench: &str) -> Result<Vec<Figure>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["bench", "-q", "--locked", "-p", package, "--bench", bench]);
    let output = cargo.output().context("cargo bench")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = |line: &str| {
        let words: Vec<&str> = line.strip_prefix("figure ")?.split(' ').collect();
        let [name, value, unit] = words[..] else { return None };
        let value = value.parse().with_context(|| line.to_owned());
        Some(value.map(|value| Figure::new(name, value, unit.to_owned())))
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(figure).collect()
}
