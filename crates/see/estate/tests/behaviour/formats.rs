//! The lists of each platform are read with the platform's meaning.

use tilemark_estate::read::{Reading, Source};
use tilemark_estate::{Inventory, LeftOut, ReadError, Vm, collect};
use units::Bytes;

use crate::book::{workbook, workbook_with_shared_texts};

/// Reads files of these names and contents.
pub fn read(files: &[(&str, &[u8])]) -> Result<Inventory, ReadError> {
    let place = tempfile::tempdir().expect("a directory");
    let source = |(name, content): &(&str, &[u8])| {
        let (vm, name) = name.split_once('=').map_or((None, *name), |(vm, name)| (Some(vm), name));
        let path = place.path().join(name);
        std::fs::write(&path, content).expect("written");
        Source { path, vm: vm.map(str::to_owned), every: Some(10.0) }
    };
    let sources: Vec<Source> = files.iter().map(source).collect();
    collect(&sources, &Reading::default(), false)
}

fn one<'a>(inventory: &'a Inventory, name: &str) -> &'a Vm {
    inventory
        .vms
        .iter()
        .find(|vm| vm.name == name)
        .unwrap_or_else(|| panic!("no {name} in {inventory:?}"))
}

const MIB: u64 = 1 << 20;

#[test]
fn rvtools_sheets_join_by_uuid_and_omit_stopped_vms() {
    let heading = vec![
        "VM",
        "Powerstate",
        "Template",
        "CPUs",
        "Total disk capacity MiB",
        "In Use MiB",
        "VM UUID",
    ];
    let info = vec![
        heading,
        vec!["sql01", "poweredOn", "b:0", "n:8", "n:1000", "f:200+300=500", "U-1"],
        vec!["twin", "poweredOn", "b:0", "n:2", "n:100", "n:40", "U-2"],
        vec!["twin", "poweredOn", "b:0", "n:2", "n:200", "n:50", "U-3"],
        vec!["golden", "poweredOn", "b:1", "n:2", "n:100", "n:40", "U-4"],
        vec!["old", "poweredOff", "b:0", "n:2", "n:100", "n:40", "U-5"],
        vec!["vCLS-1", "poweredOn", "b:0", "n:1", "n:2", "n:1", "U-6"],
    ];
    let disks = vec![
        vec!["VM", "Disk", "Capacity MiB", "Raw", "VM UUID"],
        vec!["sql01", "Hard disk 1", "n:900", "b:0", "U-1"],
        vec!["sql01", "Hard disk 2", "n:100", "b:1", "U-1"],
    ];
    let partitions = vec![
        vec!["VM", "Disk", "Consumed MiB", "VM UUID"],
        vec!["twin", "C", "n:30", "U-3"],
        vec!["twin", "D", "n:12", "U-3"],
    ];
    let sheets =
        [("vInfo", info), ("vDisk", disks), ("vPartition", partitions), ("vCPU", vec![vec!["x"]])];
    let inventory = read(&[("lab.xlsx", &workbook(&sheets))]).expect("a workbook");
    assert_eq!(inventory.bad.count, 0, "{:?}", inventory.bad);
    assert_eq!(
        inventory.left_out,
        [(LeftOut::Template, 1), (LeftOut::Off, 1), (LeftOut::Platform, 1)]
    );
    let sql = one(&inventory, "sql01");
    assert_eq!(sql.provisioned, Some(Bytes::new(900 * MIB)), "without the raw disk");
    assert_eq!(
        (sql.used, sql.vcpus),
        (Some(Bytes::new(400 * MIB)), Some(8)),
        "the formula's stored value"
    );
    assert_eq!(inventory.raw, Bytes::new(100 * MIB));
    assert_eq!(one(&inventory, "twin").used, Some(Bytes::new(40 * MIB)));
    assert_eq!(
        one(&inventory, "twin (2)").used,
        Some(Bytes::new(42 * MIB)),
        "its partitions, by its UUID"
    );
}

/// Excel stores each text once, in a separate list, and cells refer to it by number.
#[test]
fn a_workbook_that_excel_saved_is_the_one_that_a_program_wrote() {
    let info = vec![
        vec!["VM", "Powerstate", "Cluster", "In Use MiB", "OS"],
        vec!["web1", "poweredOn", "one", "n:10", "Debian"],
        vec!["web2", "poweredOn", "one", "n:20", "Debian"],
        vec!["web3", "poweredOff", "one", "f:1+2=3", "web1"],
    ];
    let sheets = [("vInfo", info)];
    let read = |book: &[u8]| read(&[("lab.xlsx", book)]).expect("a workbook");
    let (written, saved) = (workbook(&sheets), workbook_with_shared_texts(&sheets));
    assert_ne!(written, saved);
    assert_eq!(read(&saved), read(&written));
    assert_eq!(read(&saved).vms.len(), 2);
}

/// Merged cells have their value in the first cell, and the others are empty.
#[test]
fn rows_without_a_name_and_a_title_above_headings_are_named() {
    let rows = vec![
        vec!["VM", "State", "Used GiB"],
        vec!["web1", "on", "n:10"],
        vec!["", "on", "n:20"],
        vec!["web2", "on", "n:30"],
    ];
    let inventory = read(&[("own.xlsx", &workbook(&[("Machines", rows.clone())]))]);
    let inventory = inventory.expect("a workbook");
    let names: Vec<&str> = inventory.vms.iter().map(|vm| vm.name.as_str()).collect();
    assert_eq!(names, ["web1", "web2"]);
    assert_eq!(inventory.bad.count, 1);
    let told = &inventory.bad.first[0];
    assert!(told.contains("Machines, row 3: it names no virtual machine"), "{told}");

    let titled = [vec![vec!["Our machines, November"]], rows].concat();
    let error = read(&[("own.xlsx", &workbook(&[("Machines", titled)]))]).expect_err("no table");
    assert!(error.to_string().contains("its headings are Our machines, November"), "{error}");
    assert!(error.hint().is_some(), "{error}");
}

#[test]
fn a_hundred_thousand_rows_are_as_many_machines() {
    let text = tilemark_estate::example(100_000);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let book = workbook_with_shared_texts(&[("vInfo", rows)]);
    for (name, content) in [("vms.csv", text.as_bytes()), ("vms.xlsx", &book)] {
        let inventory = read(&[(name, content)]).expect(name);
        assert_eq!((inventory.listed(), inventory.bad.count), (100_000, 0), "{name}");
        assert_eq!(inventory.vms.len(), 96_000, "every 25th is off or a template: {name}");
    }
}

#[test]
fn powercli_exports_and_own_tables_are_read_in_their_units() {
    let text = "\u{feff}\"Name\";\"PowerState\";\"NumCpu\";\"ProvisionedSpaceGB\";\"UsedSpaceGB\"\n\
                \"web;1\";\"PoweredOn\";\"2\";\"40,5\";\"12,25\"\n\"db1\";\"PoweredOff\";\"4\";\"100\";\"50\"\n";
    let own = "VM,Read IOPS,Write IOPS,Read MB/s,Class\nweb;1,120,30,1.5,web\n";
    let inventory =
        read(&[("vms.csv", text.as_bytes()), ("load.csv", own.as_bytes())]).expect("tables");
    assert_eq!(inventory.bad.count, 0, "{:?}", inventory.bad);
    let web = one(&inventory, "web;1");
    assert_eq!(web.used, Some(Bytes::new(12 * 1024 * MIB + 256 * MIB)));
    assert_eq!(web.load.reads_per_s, Some(120.0));
    assert_eq!(web.load.read_bytes_per_s, Some(1_572_864.0), "MB of platforms are 2^20");
    assert_eq!(web.class.as_deref(), Some("web"));
    assert_eq!(inventory.left_out, [(LeftOut::Off, 1)]);
}

#[test]
fn proxmox_vms_take_sizes_from_list_and_bytes_from_rrd() {
    let list = br#"[{"type":"qemu","vmid":100,"name":"app","status":"running","template":0,"maxcpu":4,"maxdisk":34359738368,"disk":0},
        {"type":"lxc","vmid":101,"name":"ct","status":"running","maxcpu":1,"maxdisk":8589934592,"disk":1073741824},
        {"type":"qemu","vmid":102,"name":"tpl","status":"stopped","template":1,"maxdisk":1},
        {"type":"storage","storage":"local"}]"#;
    let mut rates: Vec<String> = (0..100)
        .map(|at| format!(r#"{{"time":{},"diskread":{},"diskwrite":4096}}"#, at * 60, at * 1000))
        .collect();
    rates.push(r#"{"time":6000}"#.to_owned());
    let rates = format!("[{}]", rates.join(","));
    let inventory =
        read(&[("cluster.json", list), ("app=rrd.json", rates.as_bytes())]).expect("JSON");
    let app = one(&inventory, "app");
    assert_eq!(
        (app.used, app.provisioned),
        (None, Some(Bytes::new(32 << 30))),
        "0 used is not known"
    );
    assert_eq!(app.load.read_bytes_per_s, Some(94_000.0), "the 95th of 100 percentiles");
    assert!(app.load.is_known() && !app.load.has_io());
    assert_eq!(one(&inventory, "ct").used, Some(Bytes::new(1 << 30)));
    assert_eq!(inventory.left_out, [(LeftOut::Template, 1)]);
    let nameless = read(&[("rrd.json", rates.as_bytes())]).expect_err("nobody's");
    assert!(matches!(nameless, ReadError::Nameless { .. }), "{nameless}");
}

#[test]
fn two_libvirt_samples_give_rates_and_xml_adds_facts() {
    let sample = |requests: u32| {
        format!(
            "Domain: 'a&b'\n  state.state=1\n  vcpu.current=2\n  block.count=2\n  block.0.name=vda\n  block.0.rd.reqs={}\n  \
             block.0.wr.reqs=0\n  block.0.capacity=1073741824\n  block.0.allocation=536870912\n  block.1.name=vdb\n  \
             block.1.rd.reqs={requests}\n  block.1.wr.reqs=5\n  block.1.capacity=1073741824\n  block.1.allocation=0\n\
             Domain: 'off'\n  state.state=5\n  block.count=0\n",
            requests * 2
        )
    };
    let stats = sample(100) + "\n" + &sample(300);
    let xml = "<domain type='kvm'><name>a&amp;b</name><uuid>AB-1</uuid><metadata><libosinfo:libosinfo \
               xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'><libosinfo:os \
               id='http://microsoft.com/win/10'/></libosinfo:libosinfo></metadata><vcpu placement='static'>2</vcpu>\
               <devices><disk><name>no</name></disk></devices></domain>";
    let inventory =
        read(&[("stats.txt", stats.as_bytes()), ("a.xml", xml.as_bytes())]).expect("libvirt");
    assert_eq!(inventory.bad.count, 0, "{:?}", inventory.bad);
    let vm = one(&inventory, "a&b");
    assert_eq!(vm.load.reads_per_s, Some(60.0), "600 more in 10 s, of both disks");
    assert_eq!((vm.load.writes_per_s, vm.provisioned), (Some(0.0), Some(Bytes::new(2 << 30))));
    assert_eq!((vm.os.as_str(), vm.id.as_str()), ("Windows 10", "ab-1"));
    assert_eq!(inventory.left_out, [(LeftOut::Off, 1)]);
}

#[test]
fn prometheus_counters_sum_over_unstacked_devices() {
    let series = |metric: &str, device: &str, step: u32| {
        let values: Vec<String> =
            (0..10).map(|at| format!("[{},\"{}\"]", at * 60, at * step)).collect();
        format!(
            r#"{{"metric":{{"__name__":"{metric}","device":"{device}","instance":"web1:9100"}},"values":[{}]}}"#,
            values.join(",")
        )
    };
    let all = [
        series("node_disk_reads_completed_total", "sda", 600),
        series("node_disk_reads_completed_total", "sdb", 1200),
        series("node_disk_reads_completed_total", "dm-0", 9000),
        series("node_cpu_seconds_total", "x", 1),
    ];
    let text = format!(
        r#"{{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}}"#,
        all.join(",")
    );
    let inventory = read(&[("range.json", text.as_bytes())]).expect("a range");
    assert_eq!(one(&inventory, "web1").load.reads_per_s, Some(30.0));
    assert_eq!(inventory.bad.count, 1, "what is no counter of disks is told: {:?}", inventory.bad);
}

#[test]
fn a_workload_fitted_to_a_recording_is_a_measured_load() {
    let shipped =
        spec::shipped::workloads().iter().find(|own| own.name == "desktop").expect("shipped").text;
    let list = "VM,Used GiB\npc1,40\n";
    let files = [("vms.csv", list.as_bytes()), ("pc1=fit.toml", shipped.as_bytes())];
    let inventory = read(&files).expect("a workload");
    assert_eq!(one(&inventory, "pc1").load.reads_per_s, Some(6.0));
}
