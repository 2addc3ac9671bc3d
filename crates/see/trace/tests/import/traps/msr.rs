//! MSR Cambridge CSV.

use tilemark_trace::{Clock, Operation};
use units::Nanos;

use crate::help::read;

#[test]
fn file_times_are_steps_of_100_ns_since_1601() {
    let read = read(
        "128166372003061629,hm,0,Write,7014912,4096,26\n\
         128166372003061729,hm,0,Read,512,512,1\n",
    );
    assert_eq!(read.info.format, "msr");
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(100) });
    assert_eq!(read.info.started_unix_ns, Some(1_172_163_600_306_162_900), "22 February 2007");
    let first = read.records[0];
    assert_eq!((first.offset, first.length), (7_014_912, 4_096));
    assert_eq!((first.operation, first.latency()), (Operation::Write, Some(Nanos(2_600))));
    assert_eq!(read.records[1].issue, Nanos(10_000));
}

#[test]
fn disks_of_different_hosts_with_one_number_are_different() {
    let read = read(
        "128166372003061629,hm,0,Write,0,4096,26\n\
         128166372003061630,prxy,0,Write,0,4096,26\n\
         128166372003061631,hm,1,Write,0,4096,26\n\
         128166372003061632,hm,0,Write,0,4096,26\n",
    );
    let names: Vec<&str> = read.info.devices.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["hm_0", "prxy_0", "hm_1"]);
    assert_eq!(read.info.vms, ["hm", "prxy"]);
    let devices: Vec<u16> = read.records.iter().map(|record| record.device.0).collect();
    assert_eq!(devices, [0, 1, 2, 0]);
}
