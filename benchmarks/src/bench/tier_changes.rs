//! Measures how long a disk's requests wait while its tier is changed: other disks are attached and
//! detached, and its own settings change.
//!
//! A client always keeps one read or write of 4 KiB in progress; its waits between changes show the
//! host's delays without them. With `TMPDIR` in memory, the disk's own waits are excluded.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use block_server::ListenAddress;
use nbd::Operation;

use super::front::{BYTES, EXPORT, PAIRS, number};
use super::nbd_client::Client;
use super::pairs::scratch;
use super::tier_kept::Tier;
use super::{Figure, process, tilemark};

const BLOCK: u32 = 4096;
/// Time between two changes.
const REST: Duration = Duration::from_millis(300);
/// Bytes that wait in the log of the disk that is detached.
const DIRTY: u32 = 8 << 20;

/// Begin and end of an operation.
type Span = (Instant, Instant);

/// `tier.changes`: the longest wait that overlapped a change, and the longest that overlapped none.
pub(crate) fn changes(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let tier = Tier::make(&out, "changed", BYTES)?;
    let other = tier.directory.join("other.raw");
    std::fs::File::create(&other)?.set_len(BYTES)?;
    let server = tier.serve()?;
    server.fio("read", 8, &["--bs=512k"])?;
    let is_over = AtomicBool::new(false);
    let (made, waits) = std::thread::scope(|scope| -> Result<_> {
        let client = scope.spawn(|| waits(&tier.socket, &is_over));
        let made = rounds(&tier, &other);
        is_over.store(true, Ordering::Relaxed);
        Ok((made?, client.join().expect("it does not panic")?))
    })?;
    drop(server);
    std::fs::remove_dir_all(&out)?;
    ensure!(!waits.is_empty(), "nothing was done");
    let touches = |wait: &Span, span: &Span| wait.0 < span.1 && span.0 < wait.1;
    let longest = |of: &dyn Fn(&Span) -> bool| {
        waits.iter().filter(|wait| of(wait)).map(|wait| ms(*wait)).fold(0.0, f64::max)
    };
    for (what, span) in &made {
        let longest = longest(&|wait| touches(wait, span));
        eprintln!("{name}: {what} took {:.1} ms, the longest wait {longest:.2} ms", ms(*span));
    }
    let is_touched = |wait: &Span| made.iter().any(|(_, span)| touches(wait, span));
    eprintln!("{name}: {} requests", waits.len());
    Ok(vec![
        Figure::new(format!("{name}.longest_ms"), longest(&is_touched), "ms"),
        Figure::new(format!("{name}.longest_without_ms"), longest(&|wait| !is_touched(wait)), "ms"),
    ])
}

fn ms((begin, end): Span) -> f64 {
    end.duration_since(begin).as_secs_f64() * 1e3
}

/// Makes the changes; returns each with its begin and end.
fn rounds(tier: &Tier, other: &Path) -> Result<Vec<(String, Span)>> {
    let mut made = Vec::new();
    for _ in 0..number("TILEMARK_BENCH_RUNS", PAIRS as u64)? {
        let mut change = |arguments: &[&str]| -> Result<()> {
            std::thread::sleep(REST);
            let mut command = Command::new(tilemark::binary()?);
            command.args(["tier", arguments[0]]).arg(&tier.socket).args(&arguments[1..]);
            let begin = Instant::now();
            process::run(&mut command)?;
            made.push((arguments.join(" "), (begin, Instant::now())));
            Ok(())
        };
        let named = format!("other={}", other.display());
        change(&["attach", &named, "--mode", "back"])?;
        dirty(&tier.socket)?;
        change(&["detach", "other"])?;
        for set in [
            ["--mode", "back"],
            ["--mode", "through"],
            ["--populate", "off"],
            ["--populate", "on"],
            ["--share", "50"],
            ["--admission", "2"],
            ["--policy", "s3fifo"],
            ["--policy", "common"],
        ] {
            change(&["set", EXPORT, set[0], set[1]])?;
        }
    }
    // Each names a file of this call.
    made.iter_mut()
        .for_each(|(what, _)| *what = what.replace(&other.display().to_string(), "FILE"));
    Ok(made)
}

/// Writes data to the log, which is moved to the backing store when the disk is detached.
fn dirty(socket: &Path) -> Result<()> {
    let mut client = Client::open(&ListenAddress::Unix(socket.to_owned()), "other")?;
    let data = vec![5; 1 << 20];
    for offset in (0..DIRTY).step_by(data.len()) {
        let cookie = client.ask(Operation::Write { fua: false }, offset.into(), 1 << 20, &data)?;
        client.wait(cookie)?.context("a write failed")?;
    }
    Ok(())
}

/// Sends random reads and writes, one at a time, and returns the begin and end of each.
fn waits(socket: &Path, is_over: &AtomicBool) -> Result<Vec<Span>> {
    let mut client = Client::open(&ListenAddress::Unix(socket.to_owned()), EXPORT)?;
    let data = vec![9; BLOCK as usize];
    let (mut place, mut waits) = (1_u64, Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let offset = (place >> 33) % (BYTES / u64::from(BLOCK)) * u64::from(BLOCK);
        let begin = Instant::now();
        let cookie = match place >> 63 {
            0 => client.ask(Operation::Read, offset, BLOCK, &[])?,
            _ => client.ask(Operation::Write { fua: false }, offset, BLOCK, &data)?,
        };
        client.wait(cookie)?.context("a request failed")?;
        waits.push((begin, Instant::now()));
    }
    Ok(waits)
}
