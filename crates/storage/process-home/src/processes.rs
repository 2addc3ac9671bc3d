//! Processes that carry a directory's name in their environment.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Returns the ids of the processes that have this environment variable with this value.
pub fn carriers(variable: &str, value: &str) -> Vec<u32> {
    pids(variable, value).iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
}

/// Returns true if the process is stopped by a signal or a debugger (proc(5), states `T` and `t`).
pub fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    matches!(fields_after_name(&stat).next(), Some("T" | "t"))
}

/// Returns the processor time of a process and its threads so far: fields 14 and 15 of its `stat`,
/// in hundredths of a second (proc(5); USER_HZ is 100 for every kernel tick).
pub fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The first field after the name is the third of the file.
    let mut times = fields_after_name(&stat).skip(11);
    let [user, system] = [times.next()?.parse::<u64>().ok()?, times.next()?.parse().ok()?];
    Some(Duration::from_millis(10 * (user + system)))
}

/// Kills every process that carries the value, and waits until all have ended. Returns their
/// number.
pub(crate) fn end_carriers(variable: &str, value: &str) -> usize {
    let found = pids(variable, value);
    for pid in &found {
        // The process is opened first and checked again, because its number may be reused by now.
        let Ok(held) = pidfd_open(*pid, PidfdFlags::empty()) else { continue };
        if carries(*pid, variable, value) {
            let _ = pidfd_send_signal(&held, Signal::KILL);
        }
    }
    let until = Instant::now() + Duration::from_secs(10);
    while !found.is_empty() && !pids(variable, value).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    found.len()
}

fn pids(variable: &str, value: &str) -> Vec<Pid> {
    let all = numbers_of_all().into_iter().filter_map(Pid::from_raw);
    all.filter(|pid| carries(*pid, variable, value)).collect()
}

/// Returns the ids of all visible processes of this host.
pub(crate) fn numbers_of_all() -> Vec<i32> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the fields of the kernel's line about a process (`stat`, proc(5)) from the third on. The
/// name before them may have spaces and parentheses.
pub(crate) fn fields_after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, after)| after).split_whitespace()
}

/// Returns true if a process was started with this environment variable and value. A process that
/// has ended has no environment.
fn carries(pid: Pid, variable: &str, value: &str) -> bool {
    let wanted = format!("{variable}={value}");
    let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
    let is_other = pid != rustix::process::getpid();
    let environment = fs::read(path).unwrap_or_default();
    is_other && environment.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_process_grows_with_its_work() {
        let own = std::process::id();
        let before = cpu_time(own).expect("its times");
        let mut sum = 0_u64;
        while cpu_time(own).expect("its times") < before + Duration::from_millis(20) {
            sum = (0..100_000).fold(sum, |sum, next| std::hint::black_box(sum ^ next));
        }
        assert!(!is_stopped(own));
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
