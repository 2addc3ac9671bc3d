//! Where requests go.

use std::collections::HashMap;

use crate::support::{Case, Trace, assert_share, case, ms, number, one_action, secs};
use proptest::prelude::*;
use state_machine::Operation;
use units::Nanos;

const MIB: u64 = 1 << 20;

/// 64 users for ten virtual seconds: 64,000 reads of a 64 MiB disk.
fn reads(size: &str, address: &str) -> Trace {
    let step = format!(r#"{{ read = {{ disk = "data", size = {size}, address = {address} }} }}"#);
    one_action("{ closed = { users = 64 } }", &step).run(ms(10), secs(10))
}

#[test]
fn block_sizes_come_in_the_shares_of_their_mix() {
    // The SPC-1-like sequential sizes of the facts: mean 14.4 KB.
    let mix = [("4k", 40.0), ("8k", 24.0), ("16k", 20.0), ("32k", 8.0), ("64k", 8.0)];
    let text: Vec<String> =
        mix.iter().map(|(size, share)| format!("\"{size}\" = {share}")).collect();
    let trace = reads(&format!("{{ {} }}", text.join(", ")), r#""uniform""#);
    for (size, share) in mix {
        let bytes = size.parse::<units::Bytes>().expect("a size").get();
        let count = trace.requests.iter().filter(|(_, r)| u64::from(r.length) == bytes).count();
        assert_share(count, trace.requests.len(), share / 100.0);
    }
}

#[test]
fn uniform_reads_reach_every_part_alike() {
    let trace = reads(r#""4k""#, r#""uniform""#);
    for eighth in 0..8 {
        let part = eighth * 8 * MIB..(eighth + 1) * 8 * MIB;
        let count = trace.requests.iter().filter(|(_, r)| part.contains(&r.offset)).count();
        assert_share(count, trace.requests.len(), 0.125);
    }
}

#[test]
fn hot_spots_take_their_share_and_the_rest_goes_to_the_rest() {
    let trace = reads(
        r#""4k""#,
        r#"{ hot = [{ io = "95%", space = "5%" }, { io = "4%", space = "10%" }] }"#,
    );
    let share = |from: f64, to: f64| {
        let inside = |offset: u64| {
            let at = number(usize::try_from(offset >> 12).expect("small")) / 16384.0;
            at >= from && at < to
        };
        trace.requests.iter().filter(|(_, r)| inside(r.offset)).count()
    };
    assert_share(share(0.0, 0.05), trace.requests.len(), 0.95);
    assert_share(share(0.05, 0.15), trace.requests.len(), 0.04);
    assert_share(share(0.15, 1.0), trace.requests.len(), 0.01);
}

#[test]
fn zipf_favourites_are_scattered_and_shared_by_all_steps() {
    let case = case(
        r#"
        [[users]]
        name = "u"
        vm = "vm"
        load = { closed = { users = 64 } }
        [[action]]
        name = "r"
        steps = [{ read = { disk = "data", size = "8k", address = { zipf = { exponent = 1.0 } } } }]
        [[action]]
        name = "w"
        steps = [{ write = { disk = "data", size = { "8k" = 1, "32k" = 1 }, address = { zipf = { exponent = 1.0 } } } }]
        "#,
    );
    let trace = case.run(ms(10), secs(20));
    let top = |length: u32, operation: Operation| {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        let such =
            trace.requests.iter().filter(|(_, r)| r.length == length && r.operation == operation);
        such.clone().for_each(|(_, r)| *counts.entry(r.offset).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|(offset, count)| (std::cmp::Reverse(*count), *offset));
        (counts, such.count())
    };
    let (read, reads) = top(8192, Operation::Read);
    let (write, _) = top(8192, Operation::Write);
    let (large, _) = top(32768, Operation::Write);
    assert_eq!(read[0].0, write[0].0);
    assert_eq!(read[0].0 / 32768, large[0].0 / 32768);
    // 8192 blocks: the first has 1 / H(8192) of all, the second half of that.
    let harmonic: f64 = (1..=8192).map(|rank| 1.0 / f64::from(rank)).sum();
    assert_share(read[0].1, reads, 1.0 / harmonic);
    assert_share(read[1].1, reads, 0.5 / harmonic);
    assert!(read[0].0.abs_diff(read[1].0) > 64 * 1024, "favourites are not neighbours");
}

#[test]
fn a_sequential_stream_is_one_stream_however_many_users_read_it() {
    let trace = reads(r#""64k""#, r#"{ sequential = {} }"#);
    let offsets = trace.offsets(0);
    let follows = offsets.windows(2).filter(|pair| pair[1] == (pair[0] + 65536) % (64 * MIB));
    assert_eq!(follows.count(), offsets.len() - 1);
}

#[test]
fn mixed_access_jumps_in_its_share_and_else_continues() {
    let trace = reads(r#""4k""#, r#"{ mixed = { random = "20%" } }"#);
    let offsets = trace.offsets(0);
    let follows =
        offsets.windows(2).filter(|pair| pair[1] == (pair[0] + 4096) % (64 * MIB)).count();
    assert_share(follows, offsets.len() - 1, 0.8);
}

#[test]
fn a_drifting_set_moves_over_the_disk() {
    let step = r#"{ read = { disk = "data", size = "4k", address = { drift = {
        working-set = "10%", inside = "90%", turnover = "10m" } } } }"#;
    let mut case = one_action("{ closed = { users = 64 } }", step);
    case.time_scale = 1.0 / 60.0;
    let trace = case.run(ms(10), secs(30));
    // Turnover 10 s at this time scale. Where the middle of the most popular tenth is:
    let centre = |from: u64| {
        let mut counts = [0_usize; 100];
        let span = secs(from)..secs(from + 1);
        for (_, request) in trace.requests.iter().filter(|(at, _)| span.contains(at)) {
            counts[usize::try_from(request.offset * 100 / (64 * MIB)).expect("small")] += 1;
        }
        let window = |start: usize| (0..10).map(|step| counts[(start + step) % 100]).sum::<usize>();
        (0..100).max_by_key(|start| window(*start)).expect("not empty")
    };
    let moved = |from: u64, to: u64| (centre(to) + 100 - centre(from)) % 100;
    assert!((9..=11).contains(&moved(0, 10)), "{}", moved(0, 10));
    assert!((19..=21).contains(&moved(5, 25)), "{}", moved(5, 25));
}

#[test]
fn appends_of_all_users_make_one_log_that_wraps() {
    let case =
        one_action("{ closed = { users = 8 } }", r#"{ append = { disk = "log", size = "4k" } }"#);
    let offsets = case.run(ms(1), secs(1)).offsets(0);
    assert_eq!(offsets[0], 0);
    assert!(offsets.len() > 1000);
    assert!(offsets.windows(2).all(|pair| pair[1] == (pair[0] + 4096) % MIB));
}

#[test]
fn a_disk_holds_at_least_four_of_its_largest_blocks() {
    let step = r#"{ read = { disk = "data", size = "4MiB" } }"#;
    let small = Case { footprint: 1e-6, ..one_action("{ closed = { users = 1 } }", step) };
    let disks = small.build().disks;
    assert_eq!(disks[0].size.get(), 16 * MIB);
    assert_eq!(disks[1].size.get(), MIB);
    let half = Case { footprint: 0.5, ..one_action("{ closed = { users = 1 } }", step) };
    assert_eq!(half.build().disks[0].size.get(), 32 * MIB);
}

/// The eight streams of an SPC-1-like load, two address spaces and a log. Numbers from the
/// facts file 2.5 (open NetApp implementation).
const STREAMS: [(&str, f64, f64); 8] = [
    ("asu1-1", 0.035, 0.5),
    ("asu1-2", 0.281, 0.5),
    ("asu1-3", 0.070, 1.0),
    ("asu1-4", 0.210, 0.5),
    ("asu2-1", 0.018, 0.3),
    ("asu2-2", 0.070, 0.3),
    ("asu2-3", 0.035, 1.0),
    ("asu3-1", 0.281, 0.0),
];

fn spc1_like() -> Case {
    let smix = r#"{ "4k" = 40, "8k" = 24, "16k" = 20, "32k" = 8, "64k" = 8 }"#;
    let walk = |start: &str| {
        format!(
            r#"{{ within = {{ start = "{start}", length = "5%", address = {{ reuse-walk = {{}} }} }} }}"#
        )
    };
    let scan = |start: &str, length: &str| {
        format!(
            r#"{{ within = {{ start = "{start}", length = "{length}", address = {{ sequential = {{}} }} }} }}"#
        )
    };
    let uniform = r#""uniform""#.to_owned();
    let places = [
        (uniform.clone(), r#""4k""#),
        (walk("15%"), r#""4k""#),
        (scan("40%", "10%"), smix),
        (walk("70%"), r#""4k""#),
        (uniform, r#""4k""#),
        (walk("47%"), r#""4k""#),
        (scan("40%", "10%"), smix),
        (scan("35%", "30%"), smix),
    ];
    let mut rest = String::from(
        r#"
        [[users]]
        name = "bsu"
        vm = "vm"
        load = { open = { rate = "5000/s" } }
        "#,
    );
    for ((name, intensity, read), (address, size)) in STREAMS.iter().zip(places) {
        let disk = if name.starts_with("asu3") { "log" } else { "data" };
        for (step, share) in [("read", *read), ("write", 1.0 - read)] {
            rest += &format!(
                r#"
                [[action]]
                name = "{name}-{step}"
                weight = {}
                steps = [{{ {step} = {{ disk = "{disk}", size = {size}, address = {address} }} }}]
                "#,
                intensity * share
            );
        }
    }
    case(&rest)
}

#[test]
fn misaligned_places_have_their_share_and_pages_keep_theirs() {
    let trace = reads(
        r#"{ "4k" = 70, "1k" = 10, "10k" = 20 }"#,
        r#"{ reuse = { page = "4k", again = [{ io = "40%", within = "10%" }], misaligned = [{ io = "60%", by = "3584B" }, { io = "15%", by = "512B" }] } }"#,
    );
    let mut sectors = [0_usize; 8];
    let mut places: HashMap<u64, u64> = HashMap::new();
    for (_, request) in &trace.requests {
        sectors[usize::try_from(request.offset / 512 % 8).expect("small")] += 1;
        let place = places.entry(request.offset / 4096).or_insert(request.offset);
        // But for the last block, which must end with the disk.
        assert!(*place == request.offset || request.offset > 64 * MIB - 16_384);
    }
    for (sector, share) in [(7, 0.6), (1, 0.15), (0, 0.25)] {
        // Pages have theirs by a hash, and some are touched more often than others.
        let found = number(sectors[sector]) / number(trace.requests.len());
        assert!((found - share).abs() < 0.04, "{found} begin at sector {sector}");
    }
}

#[test]
fn misaligned_runs_go_on_exactly_where_the_one_before_ended() {
    let step = r#"{ read = { disk = "data", size = { "4k" = 50, "3584B" = 25, "5k" = 25 }, address = { reuse = { sequential = "90%", run = 20, misaligned = [{ io = "50%", by = "3584B" }] } } } }"#;
    let trace = one_action("{ closed = { users = 1 } }", step).run(ms(1), secs(20));
    let follows = trace.requests.windows(2).filter(|pair| {
        let (before, after) = (&pair[0].1, &pair[1].1);
        before.offset + u64::from(before.length) == after.offset
    });
    let share = number(follows.count()) / number(trace.requests.len());
    assert!((share - 0.9).abs() < 0.02, "{share} follow on");
}

#[test]
fn large_blocks_begin_runs_of_one_size_while_small_ones_jump() {
    let step = |size: &str, habit: &str| {
        format!(
            r#"{{ read = {{ disk = "data", size = "{size}", address = {{ reuse = {{ page = "4k", same-size = true{habit} }} }} }} }}"#
        )
    };
    // One large block in two begins a run of ten more; each step is asked as often.
    let steps = [step("4k", ""), step("64k", r#", sequential = "83.333%", run = 10"#)].join(", ");
    let trace = one_action("{ closed = { users = 1 } }", &steps).run(ms(1), secs(40));
    let (mut behind, mut jumps, mut odd) = ([0_usize; 2], [0_usize; 2], 0);
    for pair in trace.requests.windows(2) {
        let (before, after) = (&pair[0].1, &pair[1].1);
        let is_behind = before.offset + u64::from(before.length) == after.offset;
        odd += usize::from(is_behind && before.length != after.length);
        let counts = if is_behind { &mut behind } else { &mut jumps };
        counts[usize::from(after.length > 4096)] += 1;
    }
    // By chance one in 16,384 places is right behind another.
    assert!(behind[0] < 8 && odd < 8, "small blocks are alone: {behind:?} {odd}");
    let ratio = number(behind[1]) / number(jumps[1]);
    assert!((ratio - 5.0).abs() < 0.5, "{ratio} go on for each that jumps: {behind:?} {jumps:?}");
}

#[test]
fn durable_writes_have_their_share_and_others_are_not() {
    let steps = r#"{ write = { disk = "data", size = "4k", durable = "30%" } },
                   { append = { disk = "log", size = "4k", durable = "100%" } },
                   { write = { disk = "data", size = "8k" } }"#;
    let trace = one_action("{ closed = { users = 8 } }", steps).run(ms(1), secs(4));
    let of = |disk: u16, length: u32| {
        let own = trace.requests.iter().map(|(_, r)| r);
        own.filter(move |r| r.disk.0 == disk && r.length == length)
    };
    assert_share(of(0, 4096).filter(|r| r.durable).count(), of(0, 4096).count(), 0.3);
    assert!(of(1, 4096).all(|r| r.durable) && !of(0, 8192).any(|r| r.durable));
}

#[test]
fn an_spc1_like_load_has_the_published_shares() {
    let trace = spc1_like().run(ms(5), secs(40));
    let count = trace.actions.len();
    assert!((number(count) - 200_000.0).abs() < 5.0 * 200_000_f64.sqrt(), "{count}");
    for (place, (_, intensity, read)) in STREAMS.iter().enumerate() {
        let of = |action: usize| {
            trace.actions.iter().filter(move |done| usize::from(done.action.0) == action)
        };
        assert_share(of(2 * place).count(), count, intensity * read);
        assert_share(of(2 * place + 1).count(), count, intensity * (1.0 - read));
    }
    // 39.4 % reads, 38.6 % sequential, mean 8 KB.
    let requests = trace.requests.len();
    let reads = trace.requests.iter().filter(|(_, r)| r.operation == Operation::Read).count();
    assert_share(reads, requests, 0.3945);
    let bytes: f64 = trace.requests.iter().map(|(_, r)| f64::from(r.length)).sum();
    assert!((bytes / number(requests) / 1000.0 - 8.2).abs() < 0.2, "{}", bytes / number(requests));
}

fn address() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#""uniform""#.to_owned()),
        (0.0..3.0_f64).prop_map(|exponent| format!("{{ zipf = {{ exponent = {exponent:.3} }} }}")),
        (0_u32..=60, 0_u32..=50, 0_u32..=40, 0_u32..=50).prop_map(|(a, b, c, d)| format!(
            r#"{{ hot = [{{ io = "{a}%", space = "{b}%" }}, {{ io = "{c}%", space = "{d}%" }}] }}"#
        )),
        (1_u32..9).prop_map(|streams| format!("{{ sequential = {{ streams = {streams} }} }}")),
        (0_u32..=100).prop_map(|random| format!(r#"{{ mixed = {{ random = "{random}%" }} }}"#)),
        (0_u32..=100, 0_u32..=100).prop_map(|(set, inside)| format!(
            r#"{{ drift = {{ working-set = "{set}%", inside = "{inside}%", turnover = "100ms" }} }}"#
        )),
        Just("{ reuse-walk = {} }".to_owned()),
        (0_u32..=100, 0_u32..=50, 1_u32..=50, 12_u32..=20, 0_u32..=7).prop_map(
            |(behind, io, within, page, sector)| {
                let misaligned = match sector {
                    0 => String::new(),
                    _ => format!(
                        r#", misaligned = [{{ io = "80%", by = "{}B" }}]"#,
                        sector * 512
                    ),
                };
                format!(
                    r#"{{ reuse = {{ sequential = "{behind}%", page = "{}B", again = [{{ io = "{io}%", within = "{within}%" }}, {{ io = "50%", within = "60%" }}]{misaligned} }} }}"#,
                    1 << page
                )
            }
        ),
    ];
    leaf.prop_recursive(2, 4, 1, |inner| {
        (inner, 0_u32..100, 0_u32..=100).prop_map(|(inner, start, length)| {
            let length = length.min(100 - start);
            format!(
                r#"{{ within = {{ start = "{start}%", length = "{length}%", address = {inner} }} }}"#
            )
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_request_is_aligned_inside_its_disk_with_a_mix_size(
        address in address(),
        sizes in proptest::collection::vec(1_u32..600, 1..4),
        footprint in 0.000_1..1.0_f64,
        seed: u64,
        is_write: bool,
    ) {
        let mix: Vec<String> =
            sizes.iter().map(|sectors| format!("\"{}B\" = 1", sectors * 512)).collect();
        let mut unique = mix.clone();
        unique.sort();
        unique.dedup();
        let step = if is_write { "write" } else { "read" };
        let steps = format!(
            r#"{{ {step} = {{ disk = "data", size = {{ {} }}, address = {address} }} }},
               {{ append = {{ disk = "log", size = {{ {} }} }} }}"#,
            unique.join(", "), unique.join(", ")
        );
        let case = Case { seed, footprint, ..one_action("{ closed = { users = 8 } }", &steps) };
        let disks = case.build().disks;
        let trace = case.run(Nanos::from_micros(100), ms(100));
        prop_assert!(trace.requests.len() > 2000);
        for (_, request) in &trace.requests {
            let disk = disks[usize::from(request.disk.0)].size.get();
            prop_assert!(request.offset + u64::from(request.length) <= disk, "{request:?} {disk}");
            let is_off = request.disk.0 == 0 && address.contains("misaligned");
            let sector = if request.length < 4096 || is_off { 512 } else { 4096 };
            prop_assert_eq!(request.offset % sector, 0);
            prop_assert!(sizes.contains(&(request.length / 512)));
        }
        let follows = ["sequential", "mixed", "reuse ="].iter().any(|word| address.contains(word));
        let is_random = !follows;
        for (_, request) in trace.requests.iter().filter(|(_, r)| is_random && r.disk.0 == 0) {
            let length = u64::from(request.length);
            let stride = if length < 4096 { length } else { length.next_multiple_of(4096) };
            prop_assert_eq!(request.offset % stride, 0, "a whole number of blocks");
        }
    }
}
