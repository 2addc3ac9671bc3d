//! Drives the engine with a plain closed loop, to compare its speed with other generators.
//!
//! ```text
//! raw PATH read|randread|randrw BLOCK_SIZE DEPTH SECONDS [WORKERS]
//! ```
//! `randrw` is 70 % reads and writes to PATH. Prints one line of JSON.
#![allow(clippy::print_stdout, reason = "a program whose output this is")]

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

use datastore::VirtualDisk;
use machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
};
use record::recorder::InstanceShape;
use record::slice::{InstanceId, VmId};
use stats::Histogram;
use tilemark_engine::{EngineInstance, Options};
use units::{Bytes, Nanos};

struct ClosedLoop {
    stream: Stream,
    blocks: u64,
    length: u32,
    depth: u32,
    read_share: f64,
    /// `None`: random.
    position: Option<u64>,
}

impl ClosedLoop {
    fn ask(&mut self, now: Nanos, token: Token, fx: &mut Effects) {
        let block = match &mut self.position {
            Some(next) => {
                *next = (*next + 1) % self.blocks;
                *next
            }
            None => self.stream.below(self.blocks),
        };
        let read = self.read_share >= 1.0 || self.stream.chance(self.read_share);
        fx.submit(IoRequest {
            token,
            disk: DiskId(0),
            operation: if read { Operation::Read } else { Operation::Write },
            kind: KindId(0),
            offset: block * u64::from(self.length),
            length: self.length,
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }
}

impl Machine for ClosedLoop {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => (0..self.depth).for_each(|user| self.ask(now, Token(user), fx)),
            Event::Done(token, _) => self.ask(now, token, fx),
            Event::Timer(_) | Event::Ran(_) => {}
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, pattern, block, depth, seconds, rest @ ..] = args.as_slice() else {
        return Err(
            "usage: raw PATH read|randread|randrw BLOCK_SIZE DEPTH SECONDS [WORKERS]".into()
        );
    };
    let length = u32::try_from(block.parse::<Bytes>()?.get())?;
    let (depth, seconds): (u32, u64) = (depth.parse()?, seconds.parse()?);
    let workers: usize = rest.first().map_or(Ok(1), |text| text.parse())?;
    let writable = pattern == "randrw";
    let mut file =
        OpenOptions::new().read(true).write(writable).custom_flags(libc::O_DIRECT).open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    let file = Arc::new(file);
    let instances = (0..workers).map(|worker| EngineInstance {
        machine: ClosedLoop {
            stream: Stream::derive(1, &[worker as u64], Purpose::User),
            blocks: size / u64::from(length),
            length,
            depth,
            read_share: if writable { 0.7 } else { 1.0 },
            position: (pattern == "read").then_some(0),
        },
        shape: InstanceShape {
            instance: InstanceId(0),
            disk_vms: vec![VmId(0)],
            kinds: 1,
            actions: 0,
            groups: 0,
        },
        disks: vec![VirtualDisk {
            file: Arc::clone(&file),
            base: 0,
            size: Bytes::new(size),
            alignment: 4096,
            direct: true,
            writable,
            name: "disk".to_owned(),
        }],
        services: Vec::new(),
    });
    let options = Options { workers, depth, ..Options::default() };
    let running = tilemark_engine::start(instances.collect(), options)?;
    std::thread::sleep(Duration::from_secs(seconds));
    let (outcome, slices) = running.finish()?;
    let (mut service, mut errors, mut bytes) = (Histogram::new(), 0, 0);
    for row in slices.iter().flat_map(|slice| &slice.io) {
        service.merge_compact(&row.service);
        errors += row.errors;
        bytes += row.bytes.get();
    }
    let compact = service.compact();
    let percentile = |share: f64| {
        let (mut seen, total) = (0.0, compact.count() as f64);
        let at = compact.buckets.iter().find(|(_, count)| {
            seen += f64::from(*count);
            seen >= share * total
        });
        at.map_or(0, |(value, _)| value.0)
    };
    let elapsed = outcome.elapsed.as_secs_f64();
    let cpu = outcome.cpu_seconds_user + outcome.cpu_seconds_system;
    println!(
        "{{\"backend\":\"{}\",\"iops\":{:.0},\"bytes_per_s\":{:.0},\"errors\":{errors},\
         \"user_s\":{:.3},\"system_s\":{:.3},\"cpu_us_per_io\":{:.3},\"service_p50_ns\":{},\
         \"service_p99_ns\":{}}}",
        outcome.backend,
        outcome.completed as f64 / elapsed,
        bytes as f64 / elapsed,
        outcome.cpu_seconds_user,
        outcome.cpu_seconds_system,
        cpu * 1e6 / outcome.completed.max(1) as f64,
        percentile(0.5),
        percentile(0.99),
    );
    for warning in outcome.warnings {
        eprintln!("{}: {}", warning.id, warning.text);
    }
    Ok(())
}
