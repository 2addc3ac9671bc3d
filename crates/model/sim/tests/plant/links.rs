//! Links and their frames, as an array's file says.

use crate::support::{Load, ONE_SERVER, array, assert_within, instance, plant, run};

/// Reads of 64 KiB from eight users over one link, with these keys: bytes per second on the link, and
/// the share of the hosts' time that I/Os took.
fn over(link: &str, io_cpu: &str) -> (f64, f64) {
    let disk = ONE_SERVER.replace("servers = 1", "servers = 64").replace("1ms", "10us");
    let hosts =
        format!("[hosts]\ncount = 1\ncores = 8\nio-cpu = {{ per-io = \"20us\"{io_cpu} }}\n");
    let array = array(&format!("{hosts}[link]\n{link}\n{disk}"));
    let load = Load { length: 65536, addresses: 1 << 14, ..Load::users(1, 8) };
    let run = run(plant(&array, &[instance(0, &[2 << 30])]), vec![load], 3);
    let part = |name: &str| run.facts.parts.iter().find(|part| part.name == name);
    let bytes = part("link").expect("a link").bytes_per_s;
    (bytes, run.facts.hosts[0].used)
}

#[test]
fn jumbo_frames_carry_more_and_cost_less_cpu() {
    let of = |link: &str| over(&format!("kind = \"ethernet-1g\"\n{link}"), ", per-frame = \"1us\"");
    let (usual, jumbo) = (of(""), of("frame = \"9000B\""));
    assert_within(0.01, usual.0, 118.7e6, "MTU 1500");
    assert_within(0.01, jumbo.0, 123.9e6, "MTU 9000");
    let per_io = |(bytes, cpu): (f64, f64)| cpu / (bytes / 65536.0);
    assert_within(0.02, per_io(usual) / per_io(jumbo), 65.0 / 28.0, "20 us and 45 or 8 frames");
    let header = of("header = \"1460B\"");
    assert_within(0.01, usual.0 / header.0, 66996.0 / 65536.0, "a frame more for each I/O");
}
