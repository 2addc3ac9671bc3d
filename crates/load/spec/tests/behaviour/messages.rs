//! Messages for mistakes in files.

use std::fmt::Write as _;

use tilemark_spec as spec;

use spec::SpecError;

/// Compares with the stored text, without storing the expression that makes it.
macro_rules! assert_said {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

/// A workload with a bit of everything, so that one replacement makes one mistake.
const WORKLOAD: &str = r#"name = "shop"
title = "A shop"
source = "our choice"

[metric]
unit = "orders/min"
count = "actions"
of = ["order"]
per = "1m"

[[vm]]
name = "db"

[[vm.disk]]
name = "tables"
size = "80GiB"

[[users]]
name = "steady"
vm = "db"
load = { closed = { users = 36, think = { exponential = "1s" } } }
mix = { order = 1 }
schedule = { active = "3m", every = "5m" }

[[action]]
name = "order"
weight = 80
steps = [
    { cpu = "3ms" },
    { read = { disk = "tables", size = { "8k" = 90, "32k" = 10 }, address = { hot = [{ io = "95%", space = "5%" }] } } },
    { parallel = [{ write = { disk = "tables", size = "8k", address = { zipf = { exponent = 0.9 } } } }] },
    { repeat = { times = 2, steps = [{ read = { disk = "tables", size = "8k", address = { within = { start = "10%", length = "80%", address = "uniform" } } } }] } },
]

[[limit]]
action = "order"
percentile = 95
limit = "500ms"
source = "our choice"
"#;

const PLAN: &str = r#"datastore = "dir:/srv/storage"
tile = "datacenter"

[ladder]
tiles = "1..8"
repeats = 3

[measure]
warm-up-min = "10s"
warm-up-max = "5m"
duration = "1m"
slice = "1s"

[scale]
footprint = 0.1
time = 0.2
"#;

const TILE: &str = r#"name = "mine"
title = "Mine"
source = "our choice"

[[workload]]
use = "mail"

[[workload]]
use = "shop"
count = 2
"#;

const ARRAY: &str = r#"name = "ours"
title = "Ours"
source = "our choice"

[hosts]
count = 2
cores = 4

[lun-queue]
depth = 32
shared = 16

[link]
kind = "fc-8g"

[controller.write-memory]
size = "1GiB"
low = "60%"

[controller.read-memory]
size = "1GiB"

[[tier]]
name = "flash"
at = "host"
size = "300GiB"
page = "64KiB"
policy = "arc"
disk = "ssd-sata-enterprise"
count = 2
replicas = 1

[[pool]]
name = "disks"
disk = "hdd-10k"
count = 4
raid = "raid10"

[[place]]
pool = "disks"
tiles = [1, 2]

[disk.measured.servers]
capacity = "1TB"
servers = 4
read = "100us"
write = "50us"
rate = "1GB"
"#;

/// Text of an error, as the command line shows it.
pub fn render(error: &SpecError) -> String {
    match error {
        SpecError::Invalid(invalid) => format!("{}\n", invalid.report()),
        other => {
            let hint = other.help().map(|help| format!("hint: {help}\n"));
            format!("{other}\n{}", hint.unwrap_or_default())
        }
    }
}

/// Makes each mistake alone in a valid file, and renders its message.
pub fn mistakes(
    name: &str,
    right: &str,
    load: impl Fn(&str) -> Result<(), SpecError>,
    list: &[(&str, &str)],
) -> String {
    load(right).unwrap_or_else(|error| panic!("the file to begin with: {}", render(&error)));
    let mut all = String::new();
    for (before, after) in list {
        assert!(right.contains(before), "{before} is not in {name}");
        let error = load(&right.replacen(before, after, 1));
        let Err(error) = error else { panic!("{before} -> {after} is accepted") };
        writeln!(all, "=== {before} -> {after}\n{}", render(&error)).expect("a string");
    }
    all
}

fn in_workload(list: &[(&str, &str)]) -> String {
    let load = |text: &str| spec::load_workload("shop.toml", text).map(drop);
    mistakes("the workload", WORKLOAD, load, list)
}

#[test]
fn mistakes_of_form_in_a_workload() {
    assert_said!(in_workload(&[
        ("[metric]", "[metric"),
        ("weight = 80", "weight = "),
        ("weight = 80", "weight = \"80\""),
        ("weight = 80", "wieght = 80"),
        ("disk = \"tables\"", "disc = \"tables\""),
        ("{ read =", "{ reed ="),
        ("hot =", "hott ="),
        ("closed =", "close ="),
        ("users = 36", "user = 36"),
        ("size = \"80GiB\"\n", ""),
        ("size = \"80GiB\"", "size = \"80GiBB\""),
        ("size = \"80GiB\"", "size = 80"),
        ("size = \"8k\"", "size = \"8kB\""),
        ("size = \"8k\"", "size = \"1000B\""),
        ("size = \"8k\"", "size = 8192"),
        ("size = \"8k\"", "size = true"),
        ("cpu = \"3ms\"", "cpu = \"3\""),
        ("cpu = \"3ms\"", "cpu = 3"),
        ("cpu = \"3ms\"", "cpu = { exponental = \"3ms\" }"),
        ("cpu = \"3ms\"", "cpu = { exponential = \"3\" }"),
        ("cpu = \"3ms\"", "cpu = \"3ms\", wait = \"1s\""),
        ("cpu = \"3ms\"", "cpu = [\"3ms\"]"),
        ("io = \"95%\"", "io = \"95\""),
        ("io = \"95%\"", "io = 0.95"),
        ("io = \"95%\"", "io = \"195%\""),
        ("users = 36", "users = -36"),
        ("per = \"1m\"", "per = \"1min\""),
    ]));
}

#[test]
fn mistakes_of_meaning_in_a_workload() {
    assert_said!(in_workload(&[
        ("disk = \"tables\"", "disk = \"table\""),
        ("vm = \"db\"", "vm = \"dbs\""),
        ("name = \"shop\"", "name = \"The Shop\""),
        ("mix = { order = 1 }", "mix = { oder = 1 }"),
        ("mix = { order = 1 }", "mix = { order = 0 }"),
        ("mix = { order = 1 }", "mix = {}"),
        ("mix = { order = 1 }\n", "mix = { order = -1 }\n"),
        ("weight = 80", "weight = nan"),
        ("[[vm.disk]]", "[[vm.disk]]\nname = \"tables\"\nsize = \"1G\"\n\n[[vm.disk]]"),
        ("users = 36", "users = 0"),
        ("active = \"3m\"", "active = \"6m\""),
        ("active = \"3m\", ", ""),
        ("cpu = \"3ms\"", "cpu = { uniform = [\"5ms\", \"1ms\"] }"),
        ("\"32k\" = 10", "\"33\" = 10"),
        ("\"32k\" = 10", "\"8KiB\" = 10"),
        ("\"8k\" = 90, \"32k\" = 10", ""),
        ("hot = [{ io = \"95%\"", "hot = [{ io = \"10%\", space = \"5%\" }, { io = \"95%\""),
        ("space = \"5%\"", "space = \"100%\""),
        ("exponent = 0.9", "exponent = 3.5"),
        ("start = \"10%\"", "start = \"30%\""),
        ("times = 2", "times = 0"),
        ("size = \"80GiB\"", "size = \"16KiB\""),
        (
            "disk = \"tables\", size = { \"8k\"",
            "kind = \"tables-write\", disk = \"tables\", size = { \"8k\""
        ),
        ("steps = [{ read", "steps = [], times = 2 } }, { repeat = { times = 2, steps = [{ read"),
        ("of = [\"order\"]", "of = [\"oder\"]"),
        ("count = \"actions\"", "count = \"io\""),
        ("action = \"order\"\npercentile", "io = \"tables-reed\"\npercentile"),
        ("action = \"order\"\npercentile", "percentile"),
        ("action = \"order\"\npercentile", "action = \"order\"\nio = \"tables-read\"\npercentile"),
        ("percentile = 95", "percentile = 100"),
        ("percentile = 95", "mean = \"1ms\"\npercentile = 95"),
        ("percentile = 95\n", ""),
        ("percentile = 95\nlimit = \"500ms\"\n", ""),
        ("source = \"our choice\"\n\n[metric]", "source = \"\"\n\n[metric]"),
    ]));
}

#[test]
fn mistakes_of_reuse_and_bursts() {
    let text = WORKLOAD
        .replace(
            "{ zipf = { exponent = 0.9 } }",
            "{ reuse = { page = \"64k\", again = [{ io = \"40%\", within = \"1%\" }, \
             { io = \"20%\", within = \"5%\" }] } }",
        )
        .replace(
            "{ closed = { users = 36, think = { exponential = \"1s\" } } }",
            "{ open = { rate = \"5/s\", gaps = { \"1ms\" = 3, \"2s\" = 1 } } }",
        );
    let load = |text: &str| spec::load_workload("shop.toml", text).map(drop);
    assert_said!(mistakes(
        "the workload",
        &text,
        load,
        &[
            ("page = \"64k\"", "page = \"48k\""),
            ("page = \"64k\"", "page = \"2k\""),
            ("page = \"64k\"", "run = 0.5"),
            ("io = \"40%\"", "io = \"90%\""),
            ("within = \"5%\"", "within = \"1%\""),
            ("within = \"1%\"", "within = \"0%\""),
            ("\"1ms\" = 3", "\"1\" = 3"),
            ("\"1ms\" = 3", "\"0s\" = 3"),
            ("\"1ms\" = 3, \"2s\" = 1", "\"1ms\" = 0"),
            ("\"1ms\" = 3, \"2s\" = 1", ""),
        ]
    ));
}

#[test]
fn mistakes_of_bursts_misalignment_and_durable_writes() {
    let text = WORKLOAD
        .replace(
            "{ zipf = { exponent = 0.9 } }",
            "{ reuse = { misaligned = [{ io = \"40%\", by = \"3584B\" }, \
             { io = \"20%\", by = \"512B\" }] } }",
        )
        .replace(
            "{ closed = { users = 36, think = { exponential = \"1s\" } } }",
            "{ open = { rate = \"5/s\", bursts = [{ io = \"30%\", time = \"1%\", \
             length = \"2s\" }, { io = \"40%\", time = \"5%\", length = \"1s\" }] } }",
        );
    let load = |text: &str| spec::load_workload("shop.toml", text).map(drop);
    assert_said!(mistakes(
        "the workload",
        &text,
        load,
        &[
            ("io = \"30%\"", "io = \"0%\""),
            ("io = \"30%\"", "io = \"70%\""),
            ("time = \"1%\"", "time = \"0%\""),
            ("time = \"1%\"", "time = \"100%\""),
            ("length = \"2s\"", "length = \"9ms\""),
            ("length = \"2s\"", "length = \"2s\", gaps = { \"0s\" = 1 }"),
            ("by = \"3584B\"", "by = \"4k\""),
            ("by = \"3584B\"", "by = \"512B\""),
            ("by = \"3584B\"", "by = \"100B\""),
            ("io = \"40%\", by", "io = \"90%\", by"),
            ("{ read = { disk", "{ read = { durable = \"5%\", disk"),
        ]
    ));
}

#[test]
fn a_loop_without_any_pause_needs_a_reference_and_an_io() {
    let text = WORKLOAD.replace("think = { exponential = \"1s\" }", "think = \"0\"");
    let text = text.replace("    { cpu = \"3ms\" },\n", "");
    let error = spec::load_workload("shop.toml", &text).expect_err("no reference");
    assert_said!(render(&error));
}

#[test]
fn all_mistakes_of_meaning_are_reported_at_once() {
    let text = WORKLOAD
        .replace("vm = \"db\"", "vm = \"dbs\"")
        .replace("percentile = 95", "percentile = 195");
    let SpecError::Invalid(invalid) =
        spec::load_workload("shop.toml", &text).expect_err("two mistakes")
    else {
        panic!("not about the text")
    };
    let paths: Vec<&str> = invalid.problems().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["users[0].vm", "limit[0].percentile"]);
    assert_eq!(invalid.line_and_column(), Some((20, 6)));
    assert_said!(render(&SpecError::Invalid(invalid)));
}

#[test]
fn call_asks_nothing_beside_the_address() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../data/tiles/workloads/micro/http-get.toml");
    let text = std::fs::read_to_string(path).expect("a shipped workload");
    let load = |ask: &str| {
        let asks = text.replace("kind = \"get\"", &format!("kind = \"get\", ask = \"{ask}\""));
        assert_ne!(asks, text);
        spec::load_workload("http-get.toml", &asks)
    };
    load("items?page=2").expect("a path below the address's");
    for (ask, why) in [
        ("../admin", "it must not contain .."),
        ("/admin", "without / at its beginning"),
        (&"x".repeat(8193), "longer than 8192 bytes"),
    ] {
        let said = render(&load(ask).expect_err(ask));
        assert!(said.contains(why), "{said}");
    }
    for (protocol, why) in [("smtp", "FROM TO[,TO...] BYTES"), ("imap", "USER STEP=COUNT...")] {
        let text = text.replace("protocol = \"http\"", &format!("protocol = \"{protocol}\""));
        let said = render(&spec::load_workload("get.toml", &text).expect_err("asks nothing"));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn mistakes_in_a_plan() {
    let load = |text: &str| spec::load_plan("plan.toml", text).map(drop);
    assert_said!(mistakes(
        "the plan",
        PLAN,
        load,
        &[
            ("dir:/srv/storage", "block:"),
            ("dir:/srv/storage", "array:vnx5501"),
            ("dir:/srv/storage", ""),
            ("tile = \"datacenter\"", "tile = \"datacentre\""),
            ("tile = \"datacenter\"", "tile = \"micro/read-4\""),
            ("[ladder]", "[lader]"),
            ("tiles = \"1..8\"", "tiles = \"8..1\""),
            ("tiles = \"1..8\"", "tiles = \"0\""),
            ("tiles = \"1..8\"", "tiles = \"1-8\""),
            ("tiles = \"1..8\"", "tiles = 4"),
            ("tiles = \"1..8\"", "tiles = \"1..8\"\ntiles-max = 4"),
            ("repeats = 3", "repeats = 0"),
            ("warm-up-min = \"10s\"", "warm-up-min = \"10m\""),
            ("duration = \"1m\"", "duration = \"0\""),
            ("slice = \"1s\"", "slice = \"2m\""),
            ("footprint = 0.1", "footprint = 1.5"),
            ("footprint = 0.1", "footprint = 0.0"),
            ("time = 0.2", "time = -1.0"),
            ("tile = \"datacenter\"", "tile = \"datacenter\"\nprofile = \"fast\""),
            ("[ladder]", "[[events]]\nat = \"2m\"\nkind = \"drain\"\nhost = \"b\"\n[ladder]"),
            ("[ladder]", "[[events]]\nat = \"2s\"\nkind = \"lose-host\"\nhost = \"b\"\n[ladder]"),
            ("[ladder]", "[[events]]\nat = \"2s\"\nkind = \"stop-hots\"\n[ladder]"),
        ]
    ));
}

#[test]
fn mistakes_in_a_tile() {
    let load = |text: &str| spec::load_tile("mine.toml", text).map(drop);
    assert_said!(mistakes(
        "the tile",
        TILE,
        load,
        &[
            ("use = \"mail\"", "use = \"mial\""),
            ("use = \"mail\"", "use = \"shop\""),
            ("use = \"mail\"\n", ""),
            ("count = 2", "count = 0"),
            (
                "[[workload]]\nuse = \"mail\"\n\n[[workload]]\nuse = \"shop\"\ncount = 2\n",
                "workload = []"
            ),
        ]
    ));
}

#[test]
fn mistakes_in_an_array() {
    let load = |text: &str| spec::load_array("ours.toml", text).map(drop);
    assert_said!(mistakes(
        "the array",
        ARRAY,
        load,
        &[
            ("count = 2\ncores", "count = 0\ncores"),
            ("cores = 4", "cores = 4\nthreads = 3"),
            ("shared = 16", "shared = 64"),
            ("kind = \"fc-8g\"", "kind = \"fc-8\""),
            ("kind = \"fc-8g\"", "latency = \"5us\""),
            ("low = \"60%\"", "low = \"90%\""),
            ("low = \"60%\"", "page = \"12KiB\""),
            ("low = \"60%\"", "page = \"512B\""),
            ("size = \"1GiB\"\nlow", "size = \"64KiB\"\nlow"),
            ("size = \"1GiB\"\n\n[[tier]]", "size = \"1GiB\"\nhit = \"0\"\n\n[[tier]]"),
            ("page = \"64KiB\"", "page = \"5000B\""),
            ("page = \"64KiB\"", "page = \"2MiB\""),
            ("policy = \"arc\"", "policy = \"ark\""),
            ("policy = \"arc\"", "policy = \"arc\"\nadmit-on = 0"),
            ("policy = \"arc\"", "policy = \"arc\"\ndirty-high = \"40%\""),
            ("size = \"300GiB\"", "size = \"300GB\"\nraid = \"raid1\""),
            ("size = \"300GiB\"", "size = \"1KiB\""),
            ("count = 2\nreplicas", "count = 0\nreplicas"),
            ("size = \"300GiB\"\n", "size = \"600GB\"\n"),
            (
                "size = \"300GiB\"\npage = \"64KiB\"\npolicy = \"arc\"\ndisk = \"ssd-sata-enterprise\"\ncount = 2",
                "size = \"601GB\"\ndisk = \"memory\""
            ),
            ("disk = \"ssd-sata-enterprise\"", "disk = \"ssd-sata\""),
            ("at = \"host\"\n", ""),
            ("replicas = 1", "replicas = 2"),
            ("replicas = 1", "replicas = 1\nadmit-on = 3\nshare-max = \"50%\""),
            ("replicas = 1", "shape = \"logged\"\nsequential-cutoff = \"1MiB\"\nreplicas = 1"),
            ("[hosts]\ncount = 2\ncores = 4\n", ""),
            ("disk = \"hdd-10k\"", "disk = \"hdd-10\""),
            ("count = 4\nraid", "count = 5\nraid"),
            ("raid = \"raid10\"", "raid = \"raid10\"\nsets = 0"),
            ("raid = \"raid10\"", "raid = \"raid7\""),
            ("raid = \"raid10\"", "raid = \"raid10\"\nelement = \"1000B\""),
            ("pool = \"disks\"", "pool = \"disk\""),
            ("tiles = [1, 2]", "tiles = [2, 2]"),
            ("[disk.measured.servers]", "[disk.hdd-10k.servers]"),
            ("read = \"100us\"", "read = \"0\""),
            ("servers = 4", "servers = 0"),
            (
                "rate = \"1GB\"",
                "rate = \"1GB\"\nvariation = { every = \"0\", pace = [1.5, 0.0], stalls = \"1/s\" }",
            ),
            (
                "rate = \"1GB\"",
                "rate = \"1GB\"\nvariation = { every = \"1ms\", pace = [1.5, 1.0], stall = [\"2ms\", \"1ms\"] }",
            ),
            (
                "[disk.measured.servers]",
                "[disk.ours.table]\ncapacity = \"0\"\nshares = [0.5, 0.9]\nloop = []\n\n[disk.measured.servers]"
            ),
            (
                "[disk.measured.servers]",
                "[disk.ours.table]\ncapacity = \"1GB\"\nshares = [0.5, 1.0]\nloop = [\n  { reads = \"100%\", block = \"4KiB\", depth = 0, read = [\"2us\", \"1us\"] },\n  { reads = \"0%\", block = \"0\", depth = 1, write = [\"1us\"] },\n  { reads = \"0%\", block = \"4KiB\", depth = 1, write = [\"0\", \"1us\"] },\n  { reads = \"0%\", block = \"4KiB\", depth = 1 },\n]\n\n[disk.measured.servers]"
            ),
            (
                "[disk.measured.servers]",
                "[disk.ours.hdd]\nlike = \"hdd-10\"\nrates = [\"50MB\", \"100MB\"]\n\n[disk.measured.servers]"
            ),
            (
                "[disk.measured.servers]",
                "[disk.ours.ssd]\nlike = \"hdd-10k\"\nprogram = \"0\"\n\n[disk.measured.servers]"
            ),
            (
                "[disk.measured.servers]",
                "[local]\ncopies = 3\ncache = \"ssd\"\ndisk = \"hdd-7200\"\ncount = 1\n\n[disk.measured.servers]"
            ),
            (
                "[[pool]]\nname = \"disks\"\ndisk = \"hdd-10k\"\ncount = 4\nraid = \"raid10\"\n\n[[place]]\npool = \"disks\"\ntiles = [1, 2]\n",
                ""
            ),
        ]
    ));
}

#[test]
fn a_name_that_is_not_shipped_and_a_file_that_is_not_there() {
    let here = std::path::Path::new("/nowhere");
    let name = spec::resolve_tile("datacentre", here).expect_err("no such tile");
    let file = spec::resolve_tile("mine/tile.toml", here).expect_err("no such file");
    assert_said!(format!("{}\n{}", render(&name), render(&file)));
}

#[test]
fn a_pipe_as_a_tile_is_refused_and_not_waited_for() {
    let dir = std::env::temp_dir().join(format!("tilemark-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&dir).status().expect("mkfifo");
    assert!(made.success());
    let error = tilemark_spec::read_tile(&dir).expect_err("refused");
    std::fs::remove_file(&dir).expect("removed");
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert!(source.is_some_and(|text| text.contains("fifo")), "{error:?}");
}

#[test]
fn calls_and_limits_name_known_endpoints_and_kinds() {
    let text = spec::shipped::workloads()
        .iter()
        .find(|file| file.name == "micro/http-get")
        .expect("it is shipped")
        .text;
    let said = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let error =
            spec::load_workload("get.toml", &text.replace(from, to)).expect_err("a mistake");
        render(&error)
    };
    let slip = said("endpoint = \"page\"", "endpoint = \"pgae\"");
    assert!(
        slip.contains("did you mean \"page\"?") && slip.contains("in get.toml, line"),
        "{slip}"
    );
    let size = said("size = \"64KiB\"", "size = \"17MiB\"");
    assert!(size.contains("is not from 1 B to 16 MiB"), "{size}");
    let limit = said("action = \"visit\"\npercentile", "call = \"got\"\npercentile");
    assert!(limit.contains("kind of call") && limit.contains("get"), "{limit}");
    let io = said("action = \"visit\"\npercentile", "io = \"get\"\npercentile");
    assert!(io.contains("kind of I/O"), "a call is no I/O: {io}");
}

#[test]
fn mistakes_in_the_power_of_an_array() {
    let frequency = "cores = 4\nfrequency = { nominal = 2.4";
    let power = "cores = 4\npower = { source = \"ours\", idle = 85, core = 9";
    let load = |text: &str| spec::load_array("ours.toml", text).map(drop);
    let of = |before: &str, rest: &str| format!("{before}, {rest} }}");
    let storage = |rest: &str| {
        format!("[power]\nsource = \"ours\"\nstatic = 500\n{rest}\n\n[disk.measured.servers]")
    };
    let changed = [
        of(frequency, "states = [1.2, 1.2, 2.4]"),
        of(frequency, "turbo = [2.0]"),
        of(frequency, "turbo = [2.8, 3.0]"),
        of(frequency, "limit = \"0%\""),
        of(frequency, "limit = \"120%\""),
        of(frequency, "governor = { every = \"0\" }"),
        of("cores = 4\nmemory = { bound = \"10%\"", "speed = 0"),
        of("cores = 4\nhypervisor = { version = \"old\"", "cpu = 0, io-cpu = -1"),
        of(power, "awake = -1"),
        of(power, "exponent = 9"),
        of(power, "memory = 100"),
        of(power, "sleep-after = \"1ms\""),
        of(power, "wake = \"1ms\""),
    ];
    let mut all: Vec<(&str, &str)> =
        changed.iter().map(|own| ("cores = 4", own.as_str())).collect();
    let disks = [
        storage("disk.hdd-10 = { idle = 8, active = 11 }"),
        storage("disk.hdd-10k = { idle = 8, active = 1 }"),
    ];
    all.extend(disks.iter().map(|own| ("[disk.measured.servers]", own.as_str())));
    assert_said!(mistakes("the power of an array", ARRAY, load, &all));
}

/// Regression of e6eaf978: a workload of 100,000 disks and actions took minutes to check.
#[test]
fn definitions_that_are_too_large_are_refused_by_their_size() {
    let actions = "[[action]]\nname = \"a\"\n".repeat(4097);
    let error = spec::load_workload("many.toml", &actions).expect_err("too many").to_string();
    assert_eq!(error, "a list has 4097 entries, but the maximum is 4096");
    let long = format!("name = \"{}\"\n", "x".repeat(4 << 20));
    let error = spec::load_workload("long.toml", &long).expect_err("too long").to_string();
    assert!(error.starts_with("it has 4194314 bytes, but the maximum is 4194304"), "{error}");
    let limits = "[[limit]]\naction = \"none\"\nmean = \"1s\"\nsource = \"x\"\n".repeat(100);
    let text = format!("{WORKLOAD}{limits}");
    let error = spec::load_workload("wrong.toml", &text).expect_err("wrong");
    let spec::SpecError::Invalid(invalid) = error else { panic!("{error}") };
    let problems: Vec<_> = invalid.problems().collect();
    assert_eq!(problems.len(), 65);
    assert!(problems[64].message.ends_with("more mistakes like these"), "{}", problems[64]);
}
