//! Processors of VMs beside a recorded trace.

use trace::store::{GAUGES_FILE, Options, TraceGauges, Writer, gauges};
use trace::{Clock, Device, DeviceIndex, IoRecord, Losses, Operation, TraceInfo, VmIndex};
use units::Nanos;
use view::{Request, Source};

/// Trace of ten seconds, in which web1 uses a quarter of the processors and waits for them later.
fn write(path: &std::path::Path) {
    let info = TraceInfo {
        format: "record",
        clock: Clock::Real { resolution: Nanos(1) },
        started_unix_ns: Some(1_795_478_400_000_000_000),
        has_latency: true,
        vms: vec!["web1".to_owned()],
        devices: vec![Device { name: "vda".to_owned(), size: None }],
        losses: Losses::default(),
    };
    let mut writer = Writer::create(path, &info, Options::default()).unwrap();
    let record = |at: u64| {
        let mut own = IoRecord::new(Nanos::from_millis(10 * at), Operation::Read, 4096 * at, 4096);
        (own.vm, own.device) = (VmIndex(0), DeviceIndex(0));
        own.device_time = Some(Nanos::from_micros(300));
        own
    };
    writer.write(&(0..1000).map(record).collect::<Vec<_>>()).unwrap();
    let mut read = TraceGauges::default();
    for second in 0..10 {
        let at = Nanos::from_secs(second);
        read.add(at, "vm.cpu", "web1", 0.25);
        read.add(at, "vm.ready", "web1", if second < 5 { 0.0 } else { 0.4 });
        read.add(at, "vm.later", "web1", 1.0);
    }
    writer.set_gauges(read);
    writer.finish().unwrap();
}

#[test]
fn processors_of_vms_are_drawn_beside_the_trace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tmt");
    write(&path);
    let sums = std::fs::read_to_string(path.join("SHA256SUMS")).unwrap();
    assert!(sums.contains(GAUGES_FILE), "{sums}");
    assert!(trace::store::open(&path).unwrap().files().contains(&path.join(GAUGES_FILE)));

    let source = Source::open_trace(&path).unwrap();
    let request = Request::parse("machine", []).unwrap();
    let page = serde_json::to_value(view::answer(&source, &request)).unwrap();
    let of = |name: &str| {
        let all = page["gauges"].as_array().unwrap();
        all.iter().find(|own| own["name"] == name).unwrap_or_else(|| panic!("{page}")).clone()
    };
    assert_eq!(
        page["gauges"].as_array().unwrap().len(),
        2,
        "a gauge of later versions is left out"
    );
    assert_eq!(of("vm.cpu")["title"], "web1: processors used");
    let ready = of("vm.ready")["mean"].clone();
    assert_eq!((&ready[2], &ready[7]), (&0.0.into(), &0.4.into()), "{ready}");

    // Without the file, or with a broken one, the trace is whole all the same.
    std::fs::write(path.join(GAUGES_FILE), "{\"schema\":\"tilemark.trace-gauges/2.0\"").unwrap();
    assert!(gauges(&path).is_err());
    assert_eq!(Source::open_trace(&path).unwrap().rollup().gauges().len(), 0);
    std::fs::remove_file(path.join(GAUGES_FILE)).unwrap();
    assert!(gauges(&path).unwrap().is_empty());
    assert!(Source::open_trace(&path).is_ok());
}
