//! Files of the same shape with different meanings: numbers of several countries, times, counters,
//! lists of the same VMs.

use tilemark_estate::{Inventory, Vm};
use units::Bytes;

use crate::formats::read;

fn inventory(files: &[(&str, &str)]) -> Inventory {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    read(&files).unwrap_or_else(|error| panic!("{error}"))
}

fn one<'a>(inventory: &'a Inventory, name: &str) -> &'a Vm {
    inventory
        .vms
        .iter()
        .find(|vm| vm.name == name)
        .unwrap_or_else(|| panic!("{name} in {inventory:?}"))
}

const GIB: u64 = 1 << 30;

#[test]
fn decimal_mark_is_that_of_the_whole_column_or_refused() {
    let own = inventory(&[("own.csv", "VM;Used MiB\r\na;1.234.567\r\nb;12.250\r\n")]);
    assert_eq!(one(&own, "b").used, Some(Bytes::new(12_250 << 20)));
    let error =
        read(&[("open.csv", b"VM;Used MiB\r\na;204.800\r\n")]).expect_err("it has two readings");
    assert!(error.to_string().contains("row 2: \"204.800\" is 204.8 or 204800"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--decimal")));
    assert!(read(&[("both.csv", b"VM;Used MiB\na;1,5\nb;1.5\n")]).is_err());
}

#[test]
fn units_in_cells_are_powers_of_1024_and_unknown_cells_none() {
    let list = inventory(&[(
        "v.csv",
        "Name,State,Used Space\na,Powered On,\"1,024.50 GB\"\nb,Powered On,N/A\n",
    )]);
    assert_eq!(one(&list, "a").used, Some(Bytes::new(2049 * GIB / 2)));
    assert_eq!((one(&list, "b").used, list.bad.count), (None, 0));
    let error = read(&[("u.csv", b"VM,Used\na,5\n")]).expect_err("no unit");
    assert!(error.hint().is_some_and(|hint| hint.contains("--unit used=")), "{error}");
}

#[test]
fn rows_of_several_moments_are_a_percentile_and_never_a_sum() {
    let rows = "a,10:00,100\na,10:05,200\na,10:10,300\n";
    let load = format!("VM,Timestamp,Read IOPS\n{rows}");
    let list = ("vms.csv", "VM,Used GiB\na,1\n");
    assert_eq!(one(&inventory(&[list, ("load.csv", &load)]), "a").load.reads_per_s, Some(300.0));
    let unnamed = inventory(&[list, ("load.csv", "VM,Read IOPS\na,100\na,200\n")]);
    assert_eq!((one(&unnamed, "a").load.reads_per_s, unnamed.bad.count), (None, 1));
    let disks =
        inventory(&[list, ("load.csv", "VM,Instance,Read IOPS\na,scsi0:0,100\na,scsi0:1,200\n")]);
    assert_eq!(one(&disks, "a").load.reads_per_s, Some(300.0), "disks add up");
}

#[test]
fn counter_of_a_device_is_one_over_partitions_and_replicas() {
    let series = |device: &str, replica: &str| {
        format!(
            "{{\"metric\":{{\"__name__\":\"node_disk_reads_completed_total\",\"device\":\"{device}\",\"instance\":\"a:9100\",\
             \"prometheus_replica\":\"{replica}\"}},\"values\":[[0,\"0\"],[60,\"6000\"],[120,\"12000\"]]}}"
        )
    };
    let all = [series("vda", "x"), series("vda", "y"), series("vda1", "x"), series("vda14", "x")]
        .join(",");
    let range = format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{all}]}}}}"
    );
    let list = ("vms.csv", "VM,Used GiB\na,1\n");
    assert_eq!(one(&inventory(&[list, ("p.json", &range)]), "a").load.reads_per_s, Some(100.0));
    let empty = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    assert!(
        inventory(&[list, ("p.json", empty)]).notes[0]
            .contains("the result of Prometheus is empty")
    );
    let failed =
        read(&[("p.json", br#"{"status":"error","errorType":"bad_data","error":"too many"}"#)]);
    assert!(failed.expect_err("an error").to_string().contains("bad_data: too many"));
}

#[test]
fn two_lists_of_the_same_machines_are_one_estate() {
    let rvtools =
        "VM,Powerstate,Provisioned MiB,In Use MiB,VM UUID\na,poweredOff,102400,40960,u-1\n";
    let proxmox = r#"{"data":[{"type":"qemu","vmid":1,"name":"a","status":"running","maxdisk":10737418240}]}"#;
    for files in
        [[("v.csv", rvtools), ("c.json", proxmox)], [("c.json", proxmox), ("v.csv", rvtools)]]
    {
        let both = inventory(&files);
        assert_eq!((both.vms.len(), one(&both, "a").used), (1, Some(Bytes::new(40 * GIB))));
        assert!(both.notes[0].contains("count as one VM"), "{:?}", both.notes);
    }
}

#[test]
fn disks_of_proxmox_are_those_of_the_configuration() {
    let list = r#"[{"type":"qemu","vmid":1,"name":"a","status":"running","maxdisk":10737418240}]"#;
    assert!(one(&inventory(&[("c.json", list)]), "a").is_first_disk);
    let config = r#"{"name":"a","scsi0":"local:vm-1-disk-0,size=10G","virtio1":"local:vm-1-disk-1,size=30G",
        "ide2":"local:iso/x.iso,media=cdrom,size=1G","cores":2,"digest":"x"}"#;
    let both = inventory(&[("c.json", list), ("config.json", config)]);
    assert_eq!(
        (one(&both, "a").provisioned, one(&both, "a").is_first_disk),
        (Some(Bytes::new(40 * GIB)), false)
    );
    let off = inventory(&[("c.json", list), ("a=rrd.json", r#"[{"time":1,"maxcpu":2}]"#)]);
    assert!(off.notes[0].contains("off all week?"), "{:?}", off.notes);
}

#[test]
fn allocation_of_libvirt_is_bounded_by_the_capacity() {
    let stats = "Domaine : 'a'\n  state.state=1\n  block.count=2\n  block.0.name=vda\n  block.0.allocation=0\n  \
                 block.0.capacity=1073741824\n  block.1.name=vdb\n  block.1.allocation=3221225472\n  block.1.capacity=2147483648\n";
    let list = inventory(&[("stats.txt", stats)]);
    assert_eq!(one(&list, "a").used, Some(Bytes::new(3 * GIB)));
    assert!(list.notes[0].contains("above its capacity"), "{:?}", list.notes);
}
