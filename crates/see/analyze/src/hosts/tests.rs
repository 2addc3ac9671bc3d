use trace::{DeviceIndex, IoRecord, Operation, VmIndex};

use super::*;
use crate::document::Limit;
use crate::material::View;
use crate::text::hosts_text;

/// I/O of a host's trace: its time there, sender, operation, offset, length, and latency.
type Io = (Nanos, u16, Operation, u64, u32, Nanos);

fn machine(name: &str, uuid: Option<&str>) -> Machine {
    Machine { name: name.to_owned(), uuid: uuid.map(str::to_owned) }
}

fn record((issue, vm, operation, offset, length, latency): &Io, device: u16) -> IoRecord {
    IoRecord {
        vm: VmIndex(*vm),
        device: DeviceIndex(device),
        device_time: Some(*latency),
        ..IoRecord::new(*issue, *operation, *offset, *length)
    }
}

/// Reads and writes without a pattern: `count` of them every `every` us, of all senders in turn.
fn ios(seed: u64, count: u64, every: u64, vms: u16) -> Vec<Io> {
    let random = |at: u64, salt: u64| (at * 2_654_435_761 + salt * 40_503 + seed * 97) >> 7;
    let io = |at: u64| {
        let operation = match random(at, 1) % 5 {
            0 => Operation::Flush,
            1 | 2 => Operation::Write,
            _ => Operation::Read,
        };
        let length = [4096, 8192, 65_536, 262_144][(random(at, 2) % 4) as usize];
        let offset = if at.is_multiple_of(3) { at * 8192 } else { random(at, 3) % 100_000 * 4096 };
        let latency = Nanos::from_micros(50 + random(at, 4) % 20_000);
        let vm = u16::try_from(at % u64::from(vms)).expect("small");
        (Nanos::from_micros(at * every), vm, operation, offset, length, latency)
    };
    (0..count).map(io).collect()
}

fn options() -> Options {
    Options {
        tool: "test".to_owned(),
        views: View::ALL.to_vec(),
        limit: Limit::usual(),
        filter: Filter::default(),
    }
}

/// Options of a host's own answer.
fn without_time() -> Options {
    let views = View::ALL.into_iter().filter(|view| *view != View::Time);
    Options { views: views.collect(), ..options() }
}

fn info(vms: &[&str], devices: &[&str]) -> TraceInfo {
    let device = |name: &&str| Device { name: (*name).to_owned(), size: None };
    TraceInfo {
        format: "hosts",
        clock: Clock::Real { resolution: Nanos(1) },
        started_unix_ns: None,
        has_latency: true,
        vms: vms.iter().map(|name| (*name).to_owned()).collect(),
        devices: devices.iter().map(device).collect(),
        losses: Losses::default(),
    }
}

fn settings(after: Nanos) -> Settings {
    Settings { after, slice: Nanos::from_millis(100), ..Settings::default() }
}

/// Host's part as received.
fn part(host: &str, after: Nanos, ios: &[Io], vms: &[&str], machines: &[Machine]) -> HostPart {
    let mut fold = Fold::new(&settings(after));
    fold.push(&ios.iter().map(|io| record(io, 0)).collect::<Vec<_>>());
    let subject = Subject { name: "r".to_owned(), info: info(vms, &["sda"]), remarks: Vec::new() };
    let part = HostPart {
        host: host.to_owned(),
        trace: format!("/traces/r-{host}.tmt"),
        trace_bytes: 7,
        clock_known_to_ns: 1000,
        vms: subject.info.vms.clone(),
        machines: machines.to_vec(),
        devices: vec!["sda".to_owned()],
        lost_events: 0,
        is_unfinished: false,
        sums: fold.clone().into_sums(),
        analysis: analyse(fold, &subject, &without_time()),
    };
    let bytes = postcard::to_stdvec(&part).expect("it is postcard");
    postcard::from_bytes(&bytes).expect("and reads back")
}

fn merged(parts: Vec<HostPart>) -> HostsAnalysis {
    analyse_hosts("r", parts, &settings(Nanos::ZERO), &options()).expect("they are known")
}

#[test]
fn two_hosts_are_added_up_to_what_one_trace_of_both_says() {
    let (of_a, of_b) = (ios(1, 4000, 900, 2), ios(2, 3000, 1100, 3));
    let after = Nanos::from_micros(123_457);
    let web = [machine("web", Some("1-2"))];
    let a = part("a", Nanos::ZERO, &of_a, &["web", "fio"], &web);
    let b = part("b", after, &of_b, &["dd", "web", "fio"], &web);
    let answer = merged(vec![a, b]);

    let names = ["web", "a/fio", "b/dd", "b/fio"];
    let mut both: Vec<IoRecord> = of_a.iter().map(|io| record(io, 0)).collect();
    both.extend(of_b.iter().map(|io| {
        let vm = [2, 0, 3][usize::from(io.1)];
        record(&(Nanos(io.0.0 + after.0), vm, io.2, io.3, io.4, io.5), 1)
    }));
    both.sort_by_key(|record| record.issue);
    let mut fold = Fold::new(&settings(Nanos::ZERO));
    fold.push(&both);
    let of_both = info(&names, &["a/sda", "b/sda"]);
    let subject = Subject { name: "r".to_owned(), info: of_both, remarks: Vec::new() };
    let whole = analyse(fold, &subject, &options());

    assert_eq!(answer.all.source, whole.source);
    assert_eq!(answer.all.overview, whole.overview);
    assert_eq!(answer.all.alignment, whole.alignment);
    assert_eq!(answer.all.sizes, whole.sizes);
    assert_eq!(answer.all.beside_large, whole.beside_large);
    assert_eq!(answer.all.matrix_latency, whole.matrix_latency);
    assert_eq!(answer.all.matrix_outstanding, whole.matrix_outstanding);
    assert_eq!(answer.all.breaks, whole.breaks);
    assert_eq!(answer.all.histograms, whole.histograms);
    assert_eq!(answer.all.time, whole.time);

    let mut of_first = Fold::new(&settings(Nanos::ZERO));
    of_first.push(&of_a.iter().map(|io| record(io, 0)).collect::<Vec<_>>());
    let of_one = info(&["web", "fio"], &["sda"]);
    let subject = Subject { name: "r".to_owned(), info: of_one, remarks: Vec::new() };
    let alone = analyse(of_first, &subject, &options());
    assert_eq!(answer.hosts[0].analysis, alone, "and each host what it says alone");

    // Lists that cannot be merged are absent, and named as missing.
    let absent =
        (answer.all.working_set.len(), answer.all.miss_ratio.len(), answer.all.tiers.len());
    assert_eq!(absent, (0, 0, 0));
    assert!(answer.all.bursts.iter().all(|row| row.vm != "all" && row.vm != "web"));
    let own = |analysis: &Analysis, vm: &str| {
        let rows = analysis.bursts.iter().filter(|row| row.vm == vm);
        rows.map(|row| (row.width_ns, row.start_ns, row.count)).collect::<Vec<_>>()
    };
    let of_fio = own(&answer.hosts[1].analysis, "fio");
    assert!(!of_fio.is_empty());
    assert_eq!(own(&answer.all, "b/fio"), of_fio, "those of one host's sender are its host's");
    let said: Vec<&str> = answer.all.cannot_say.iter().map(|remark| remark.what.as_str()).collect();
    assert!(said.iter().any(|what| what.contains("working sets")), "{said:?}");
    assert!(said.iter().any(|what| what.contains("busiest moments of a VM")), "{said:?}");
    assert!(!answer.hosts[0].analysis.working_set.is_empty(), "each host has its own");
}

#[test]
fn vms_merge_by_uuid_or_name_and_processes_stay_per_host() {
    let io = ios(1, 10, 1000, 1);
    let of = |host: &str, name: &str, machines: &[Machine]| {
        part(host, Nanos::ZERO, &io, &[name], machines)
    };
    let vms = |parts: Vec<HostPart>| merged(parts).all.source.vms;
    let (one, two) = (machine("web", Some("1")), machine("web", Some("2")));
    let renamed = machine("web-old", Some("1"));
    let unknown = machine("web", None);
    let a = || of("a", "web", std::slice::from_ref(&one));
    assert_eq!(vms(vec![a(), of("b", "web-old", &[renamed])]), ["web"]);
    assert_eq!(vms(vec![a(), of("b", "web", &[unknown])]), ["web"]);
    assert_eq!(vms(vec![a(), of("b", "web", &[two])]), ["web", "b/web"]);
    assert_eq!(vms(vec![a(), of("b", "web", &[])]), ["web", "b/web"]);
    assert_eq!(vms(vec![of("a", "dd", &[]), of("b", "dd", &[])]), ["a/dd", "b/dd"]);
}

#[test]
fn a_machine_that_moved_says_from_when_to_when_it_was_where() {
    let io = ios(1, 1000, 1000, 1);
    let web = [machine("web", None)];
    let a = part("a", Nanos::ZERO, &io, &["web"], &web);
    let b = part("b", Nanos::from_secs(2), &io, &["web"], &web);
    let answer = merged(vec![b, a]);
    let rows: Vec<(&str, u64, u64, bool)> = answer
        .machines
        .iter()
        .map(|row| (row.host.as_str(), row.from_ns, row.to_ns, row.moved))
        .collect();
    let second = 1_000_000_000;
    assert_eq!(rows, [("a", 0, second, true), ("b", 2 * second, 3 * second, true)]);
    let text = hosts_text(&answer, &[View::Overview]);
    assert!(text.contains("moved: other hosts saw I/O of this VM, too"), "{text}");
    let alone = merged(vec![part("a", Nanos::ZERO, &io, &["web"], &web)]);
    assert!(!alone.machines[0].moved && alone.all.cannot_say.is_empty());
}

#[test]
fn sums_that_name_somebody_unknown_or_are_cut_are_refused() {
    let mut wrong = part("a", Nanos::ZERO, &ios(1, 10, 1000, 2), &["x", "y"], &[]);
    wrong.vms.pop();
    let refused = analyse_hosts("r", vec![wrong], &settings(Nanos::ZERO), &options());
    let (host, error) = refused.expect_err("one is not named");
    assert_eq!(
        (host.as_str(), error.to_string().as_str()),
        ("a", "the sums name VM 1, but only 1 exist")
    );
    let bytes =
        postcard::to_stdvec(&part("a", Nanos::ZERO, &ios(1, 99, 1000, 2), &["x", "y"], &[]));
    let bytes = bytes.expect("it is postcard");
    for length in (0..bytes.len()).step_by(97) {
        assert!(postcard::from_bytes::<HostPart>(&bytes[..length]).is_err(), "{length}");
    }
}
