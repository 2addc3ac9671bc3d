//! Exports metrics of a served tier for Prometheus, as OpenMetrics text.

use std::io::{self, Write};
use std::sync::Weak;
use std::time::Duration;

use block_server::Running;
use run_store::openmetrics::{END, Times as OfTimes, family, histogram, labels, sample};
use run_store::slice::Direction;
use stats::Histogram;
use tier_service::{Command, Control, MemoryReport, Report, Taken, Times};

/// Time limit for the tier's report.
const PATIENCE: Duration = Duration::from_secs(5);
/// Sources of the metrics.
#[derive(Clone)]
pub struct Source {
    pub control: Control,
    /// Response times of the requests.
    pub times: Times,
    /// The server; the reference is dead after the server has ended.
    pub server: Weak<Running>,
}

/// Returns the current metrics as OpenMetrics text.
pub fn text(source: &Source) -> io::Result<Vec<u8>> {
    let ended = || io::Error::other("the tier ends");
    let server = source.server.upgrade().ok_or_else(ended)?;
    let report = source.control.ask(Command::Status, &server, PATIENCE);
    let report = report.map_err(io::Error::other)?.ok_or_else(ended)?;
    drop(server);
    let mut text = Vec::new();
    write(&mut text, &report, &source.times.so_far())?;
    Ok(text)
}

fn write(to: &mut dyn Write, report: &Report, taken: &Taken) -> io::Result<()> {
    requests(to, report)?;
    histograms(
        to,
        ("tilemark_tier_request_seconds", "Time from a client's request to its completion."),
        &[
            ("read", &taken.requests(Direction::Read)),
            ("write", &taken.requests(Direction::Write)),
            ("flush", &taken.requests(Direction::Flush)),
        ],
    )?;
    histograms(
        to,
        (
            "tilemark_tier_backing_seconds",
            "I/O of backing stores, for requests and in the background.",
        ),
        &[("read", &taken.backing_reads()), ("write", &taken.backing_writes())],
    )?;
    sums(to, report)?;
    disks(to, report)?;
    to.write_all(END.as_bytes())
}

fn requests(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    let counters = &report.counters;
    let name = "tilemark_tier_requests";
    family(to, name, "counter", "", "Requests by the layer that answered them.")?;
    let through = counters.writes - counters.absorbed;
    for (op, result, value) in [
        ("read", "hit", counters.hits - counters.memory_hits),
        ("read", "memory", counters.memory_hits),
        ("read", "partial", counters.partial),
        ("read", "miss", counters.misses),
        ("write", "log", counters.absorbed),
        ("write", "through", through),
        ("flush", "done", counters.flushes),
    ] {
        let labels = labels(&[("op", &op), ("result", &result)]);
        sample(to, &format!("{name}_total"), &labels, value)?;
    }
    Ok(())
}

/// Writes the metric families with one sample.
fn sums(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    let counters = &report.counters;
    for (name, unit, help, value) in [
        ("read_bytes", "bytes", "Bytes read.", counters.read_bytes),
        ("read_hit_bytes", "bytes", "Bytes read without the backing store.", counters.hit_bytes),
        (
            "read_memory_bytes",
            "bytes",
            "Bytes read from memory, part of the bytes read without the backing store.",
            counters.memory_hit_bytes,
        ),
        ("written_bytes", "bytes", "Bytes written by clients.", counters.written_bytes),
        (
            "destaged_bytes",
            "bytes",
            "Bytes destaged from logs to backing stores.",
            counters.destaged_bytes,
        ),
        ("filled_bytes", "bytes", "Bytes admitted into pages.", counters.filled_bytes),
        (
            "placed_bytes",
            "bytes",
            "Bytes admitted into pages that clients had written.",
            counters.placed_bytes,
        ),
        ("evicted_pages", "", "Pages that left.", counters.evicted),
        ("log_groups", "", "Groups written to logs.", counters.groups),
        ("checksum_errors", "", "Blocks with a wrong checksum.", counters.checksum_errors),
    ] {
        let name = format!("tilemark_tier_{name}");
        family(to, &name, "counter", unit, help)?;
        sample(to, &format!("{name}_total"), "", value)?;
    }
    let in_flight = report.in_flight as u64;
    let memory = report.memory;
    let of_memory = |of: fn(&MemoryReport) -> u64| memory.as_ref().map_or(0, of);
    for (name, unit, help, value) in [
        ("page_bytes", "bytes", "Room for pages.", report.page_bytes),
        ("held_bytes", "bytes", "Bytes of pages that can be served.", report.held_bytes),
        ("memory_bytes", "bytes", "Memory for blocks.", of_memory(|m| m.bytes)),
        ("memory_held_bytes", "bytes", "Bytes of blocks in memory.", of_memory(|m| m.held_bytes)),
        (
            "memory_taken_bytes",
            "bytes",
            "Memory taken by the blocks in memory, in bytes.",
            of_memory(|m| m.taken_bytes),
        ),
        (
            "memory_bookkeeping_bytes",
            "bytes",
            "Maximum size of the index of the blocks in memory, in bytes.",
            of_memory(|m| m.bookkeeping_bytes),
        ),
        ("in_flight", "", "Requests under way.", in_flight),
        ("failed", "", "1 when the cache device has failed.", u64::from(report.has_failed)),
    ] {
        let name = format!("tilemark_tier_{name}");
        family(to, &name, "gauge", unit, help)?;
        sample(to, &name, "", value)?;
    }
    Ok(())
}

fn disks(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    type Of = fn(&tier_service::DiskReport) -> u64;
    let of: [(&str, &str, &str, Of); 8] = [
        ("dirty_bytes", "bytes", "Bytes not yet on the backing store.", |disk| disk.dirty_bytes),
        ("epochs", "", "Epochs not yet on the backing store.", |disk| disk.epochs as u64),
        ("log_chunks", "", "Chunks used by the log.", |disk| disk.log_chunks as u64),
        ("back", "", "1 if the disk is in mode back.", |disk| u64::from(disk.mode == "back")),
        (
            "trouble",
            "",
            "1 when the backing store failed recently, 2 when the log is damaged, 3 when another \
            host owns the disk.",
            |disk| match (disk.is_fenced, disk.is_damaged) {
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => u64::from(disk.is_refused),
            },
        ),
        ("copies", "", "Copies of the log that peers hold.", |disk| disk.holding as u64),
        ("copies_wanted", "", "Copies of the log required by mode back.", |disk| {
            u64::from(disk.copies)
        }),
        ("generation", "", "Generation of the disk: the number of its owners so far.", |disk| {
            disk.generation
        }),
    ];
    for (name, unit, help, value) in of {
        let name = format!("tilemark_tier_{name}");
        family(to, &name, "gauge", unit, help)?;
        for disk in &report.disks {
            sample(to, &name, &labels(&[("disk", &disk.name)]), value(disk))?;
        }
    }
    waits(to, report)?;
    let name = "tilemark_tier_copy_lag_bytes";
    family(to, name, "gauge", "bytes", "Bytes of the log that are missing in a peer's copy.")?;
    for (disk, peer) in
        report.disks.iter().flat_map(|disk| disk.peers.iter().map(move |p| (disk, p)))
    {
        let labels = labels(&[("disk", &disk.name), ("peer", &peer.name)]);
        sample(to, name, &labels, peer.lag_bytes)?;
    }
    Ok(())
}

/// Writes the waiting times, by disk.
fn waits(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    let age = "tilemark_tier_dirty_age_seconds";
    family(to, age, "gauge", "seconds", "Age of the oldest write that is only in the log.")?;
    for disk in &report.disks {
        let value = seconds(disk.dirty_age_ns.unwrap_or(0));
        sample(to, age, &labels(&[("disk", &disk.name)]), value)?;
    }
    let throttle = "tilemark_tier_throttle_seconds";
    family(
        to,
        throttle,
        "counter",
        "seconds",
        "Time for which writes waited for room in the log.",
    )?;
    for disk in &report.disks {
        let value = seconds(disk.counters.throttled_ns);
        sample(to, &format!("{throttle}_total"), &labels(&[("disk", &disk.name)]), value)?;
    }
    Ok(())
}

fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

fn histograms(
    to: &mut dyn Write,
    (name, help): (&str, &str),
    of: &[(&str, &Histogram)],
) -> io::Result<()> {
    family(to, name, "histogram", "seconds", help)?;
    for (op, times) in of {
        let above = |limit| times.count_above(limit);
        let times = OfTimes { count: times.count(), sum_ns: times.sum_ns(), above: &above };
        histogram(to, name, &[("op", op)], &times)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tier_service::{DiskReport, DiskTimes, PeerReport};
    use units::Nanos;

    #[test]
    fn families_are_whole_and_buckets_only_grow() {
        let counters = tier::Counters {
            hits: 3,
            memory_hits: 2,
            partial: 1,
            misses: 2,
            writes: 7,
            absorbed: 6,
            throttled_ns: 2_500_000_000,
            ..tier::Counters::default()
        };
        let disk = DiskReport {
            index: 0,
            name: "vm\"1".to_owned(),
            mode: "back".to_owned(),
            dirty_bytes: 4096,
            epochs: 1,
            log_chunks: 2,
            page_bytes: 0,
            memory_held_bytes: 0,
            memory_taken_bytes: 0,
            share_percent: 100,
            policy: None,
            populates: true,
            is_damaged: false,
            is_refused: true,
            copies: 1,
            holding: 1,
            is_fenced: false,
            sidecar: "dirty".to_owned(),
            generation: 3,
            dirty_age_ns: Some(1_250_000_000),
            peers: vec![PeerReport { name: "b".to_owned(), lag_bytes: 8192 }],
            counters,
        };
        let report = Report {
            page_size_bytes: 4096,
            page_bytes: 10,
            held_bytes: 4,
            memory: Some(MemoryReport {
                bytes: 8192,
                held_bytes: 4096,
                taken_bytes: 1024,
                bookkeeping_bytes: 99,
            }),
            has_failed: false,
            counters,
            policy: "lru".to_owned(),
            in_flight: 1,
            elsewhere: Vec::new(),
            said: Vec::new(),
            disks: vec![disk],
        };
        let mut taken = Taken::default();
        let mut disk = DiskTimes::default();
        for us in [10, 60, 60, 3_000_000] {
            disk.answered(Direction::Read, 4096, Some(Nanos::from_micros(us)));
        }
        taken.disks.push(disk);
        let mut text = Vec::new();
        write(&mut text, &report, &taken).expect("memory takes it");
        let text = String::from_utf8(text).expect("it is text");
        assert!(text.ends_with(END));
        assert!(text.contains("tilemark_tier_requests_total{op=\"write\",result=\"through\"} 1\n"));
        for line in [
            "tilemark_tier_requests_total{op=\"read\",result=\"hit\"} 1\n",
            "tilemark_tier_requests_total{op=\"read\",result=\"memory\"} 2\n",
            "tilemark_tier_memory_taken_bytes{} 1024\n",
            "tilemark_tier_generation{disk=\"vm\\\"1\"} 3\n",
            "tilemark_tier_dirty_age_seconds{disk=\"vm\\\"1\"} 1.250\n",
            "tilemark_tier_throttle_seconds_total{disk=\"vm\\\"1\"} 2.500\n",
            "tilemark_tier_copy_lag_bytes{disk=\"vm\\\"1\",peer=\"b\"} 8192\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        assert!(text.contains("tilemark_tier_trouble{disk=\"vm\\\"1\"} 1\n"), "{text}");
        let reads = text
            .lines()
            .filter(|line| line.starts_with("tilemark_tier_request_seconds_bucket{op=\"read\""));
        let counts: Vec<u64> = reads
            .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("a number"))
            .collect();
        assert!(counts.is_sorted(), "{counts:?}");
        assert_eq!((counts[0], counts[1], counts.last()), (1, 3, Some(&4)));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('{').next().expect("a name");
            let is_known =
                |kind: &str| text.contains(&format!("# TYPE {} ", name.trim_end_matches(kind)));
            assert!(
                ["", "_total", "_bucket", "_count", "_sum"].into_iter().any(is_known),
                "{line}"
            );
        }
    }
}
