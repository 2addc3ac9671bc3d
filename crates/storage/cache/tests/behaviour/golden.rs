//! The same accesses give steps that are identical to the bit, before and after changes of the
//! code.

use state_machine::{Operation, Purpose, Stream, mix};
use tilemark_cache::tier::{
    Access, Admission, Config, Data, Entry, HostId, Population, Step, StepDevice, VmId, VmSettings,
    Wait, WriteMode,
};
use tilemark_cache::{PolicyKind, Tier};

const PAGE: u64 = 16 << 10;
const PAGE_BYTES: u32 = 16 << 10;
const PAGES: u64 = 96;

fn small(value: u64) -> u16 {
    u16::try_from(value).expect("small")
}

struct Log(u64);

impl Log {
    fn note(&mut self, value: u64) {
        self.0 = mix(self.0 ^ mix(value));
    }

    fn step(&mut self, step: &Step) {
        self.note(match step.place {
            StepDevice::Share(host) => u64::from(host.0),
            StepDevice::Backing => u64::MAX,
        });
        self.note(step.operation as u64);
        self.note(step.offset);
        self.note(step.address);
        self.note(u64::from(step.length));
        self.note(u64::from(step.wait == Wait::Background));
    }

    fn moved(&mut self, step: &Step) {
        self.step(step);
        self.note(u64::from(step.by.0));
        self.note(u64::from(step.data == Data::Moved));
    }
}

fn access(stream: &mut Stream, run: &mut [u64; 4]) -> Access {
    let vm = stream.below(4);
    let operation = match stream.below(40) {
        0 => Operation::Flush,
        1..=19 => Operation::Write,
        _ => Operation::Read,
    };
    if operation == Operation::Flush {
        return Access { vm: VmId(small(vm)), operation, offset: 0, length: 0 };
    }
    let span = PAGES * PAGE / 512;
    let (sector, sectors) = match stream.below(6) {
        0 => (run[usize::from(small(vm))] % span, 64),
        1 | 2 => (stream.below(PAGES) * 32, 32 * (1 + stream.below(2))),
        3 => (stream.below(span), 1 + stream.below(300)),
        _ => {
            let unit = stream.below(1 << 20);
            ((((unit * unit) >> 20) * span) >> 20, 1 + stream.below(24))
        }
    };
    let sectors = sectors.min(span - sector);
    run[usize::from(small(vm))] = sector + sectors;
    Access {
        vm: VmId(small(vm)),
        operation,
        offset: sector * 512,
        length: u32::try_from(sectors * 512).expect("small"),
    }
}

fn entry(stream: &mut Stream) -> Entry {
    match stream.below(12) {
        0 => Entry::Closed,
        1 => Entry::Unfiltered,
        _ => Entry::Filtered,
    }
}

fn limit(tier: &mut Tier, vm: u16, population: Population, share_max_percent: u8) {
    let settings = tier.settings_of(VmId(vm));
    tier.set(VmId(vm), VmSettings { population, share_max_percent, ..settings }).expect("in range");
}

fn tier(seed: u64, policy: PolicyKind, write_mode: WriteMode) -> u64 {
    let mut stream = Stream::derive(seed, &[], Purpose::User);
    let config = Config {
        policy,
        vms: VmSettings { write_mode, ..VmSettings::default() },
        admission: match seed % 3 {
            0 => Admission::Always,
            1 => Admission::NthAccess { accesses: 2, fill_percent: 0 },
            _ => Admission::NthAccess { accesses: 3, fill_percent: 60 },
        },
        sequential_bytes: seed.is_multiple_of(2).then_some(128 << 10),
        ..Config::new((8 + seed % 24) * PAGE + 512, PAGE_BYTES)
    };
    let mut tier = Tier::new(config).expect("in range");
    limit(&mut tier, 1, Population::Both, 30);
    limit(&mut tier, 2, Population::WritesOnly, 60);
    let (mut log, mut steps, mut run) = (Log(seed), Vec::new(), [0; 4]);
    for number in 0..1500 {
        steps.clear();
        let access = access(&mut stream, &mut run);
        tier.access_while(&access, entry(&mut stream), &mut steps);
        while tier.wants_cleaning(HostId(0)) && stream.below(3) > 0 {
            tier.clean(HostId(0), 1, &mut steps);
        }
        if number == 700 {
            tier.settle();
        }
        if number == 900 {
            limit(&mut tier, 2, Population::ReadsOnly, 100);
            limit(&mut tier, 3, Population::Suspended, 100);
        }
        if stream.below(50) == 0 {
            tier.clean(HostId(0), 3, &mut steps);
        }
        steps.iter().for_each(|step| log.step(step));
        log.note(tier.dirty_bytes());
        log.note(tier.resident_bytes());
    }
    let c = tier.counters();
    for value in [
        c.reads,
        c.read_hits,
        c.read_bytes,
        c.read_hit_bytes,
        c.writes,
        c.write_hits,
        c.write_bytes,
        c.write_hit_bytes,
        c.writes_absorbed,
        c.filled_bytes,
        c.placed_bytes,
        c.evicted_bytes,
        c.evicted_dirty_bytes,
        c.destaged_bytes,
        c.tier_written_bytes,
        c.sequential_bytes,
        c.refused_bytes,
    ] {
        log.note(value);
    }
    log.0
}

fn cluster(seed: u64, policy: PolicyKind, copies: u8) -> u64 {
    let mut stream = Stream::derive(seed, &[1], Purpose::User);
    let hosts = 2 + seed % 4;
    let shares_bytes = (0..hosts).map(|_| (4 + stream.below(16)) * PAGE).collect();
    let mut config = Config {
        log_percent: u8::try_from(5 + stream.below(40)).expect("small"),
        policy,
        sequential_bytes: seed.is_multiple_of(2).then_some(128 << 10),
        ..Config::of_hosts(shares_bytes, PAGE_BYTES)
    };
    if seed.is_multiple_of(3) {
        config.shares_bytes[0] = 0;
    }
    let mut cluster = Tier::new(config).expect("in range");
    let (mut log, mut steps, mut run) = (Log(seed), Vec::new(), [0; 4]);
    for number in 0..1500 {
        if number == 0 || stream.below(60) == 0 {
            for vm in 0..4 {
                let host = HostId(small(stream.below(hosts)));
                let (write_mode, copies) = match stream.below(6) {
                    0 => (WriteMode::Through, 0),
                    1 => (WriteMode::Back, 3 - copies),
                    _ => (WriteMode::Back, copies),
                };
                let population = match stream.below(8) {
                    0 => Population::ReadsOnly,
                    1 => Population::WritesOnly,
                    _ => Population::Both,
                };
                let settings =
                    VmSettings { host, write_mode, copies, population, ..VmSettings::default() };
                cluster.set(VmId(vm), settings).expect("a host");
            }
        }
        steps.clear();
        let access = access(&mut stream, &mut run);
        cluster.access_while(&access, entry(&mut stream), &mut steps);
        if stream.below(5) == 0 {
            let host = HostId(small(stream.below(hosts)));
            cluster.clean(host, 1 + usize::from(small(stream.below(3))), &mut steps);
        }
        if number % 400 == 399 {
            let failed = [HostId(small(stream.below(hosts)))];
            cluster.fail(&failed, &mut steps);
            steps.iter().for_each(|step| log.moved(step));
            steps.clear();
        }
        if number % 400 == 50 {
            cluster.hosts().for_each(|host| cluster.restore(host));
        }
        if number == 800 {
            for host in cluster.hosts() {
                cluster.clean(host, usize::MAX, &mut steps);
            }
            cluster.settle();
        }
        steps.iter().for_each(|step| log.moved(step));
        log.note(cluster.dirty_bytes());
        for host in cluster.hosts() {
            log.note(cluster.resident_bytes_of(host));
            log.note(cluster.dirty_bytes_of(host));
        }
    }
    let c = cluster.counters();
    for value in [
        c.reads,
        c.read_hits,
        c.remote_hits,
        c.read_bytes,
        c.read_hit_bytes,
        c.remote_hit_bytes,
        c.writes,
        c.write_hits,
        c.writes_absorbed,
        c.writes_fallen_back,
        c.write_bytes,
        c.write_hit_bytes,
        c.tier_written_bytes,
        c.copied_bytes,
        c.filled_bytes,
        c.placed_bytes,
        c.evicted_bytes,
        c.destaged_bytes,
        c.lost_bytes,
    ] {
        log.note(value);
    }
    log.0
}

/// Results of each policy before the code was last changed: of tiers of one host, and of tiers over
/// several hosts with one copy and with two. A refactoring must give the same results. Any other
/// change updates the results here.
const KNOWN: [(&str, [u64; 3]); 9] = [
    ("lru", [0xf799_a8fa_84ee_ceac, 0x3508_b699_3072_bf17, 0x12b1_9767_46b6_7488]),
    ("fifo", [0xceb4_5edc_acd0_9257, 0xb1d2_8ae9_de7c_d19e, 0x12bc_7420_6f6f_974d]),
    ("clock", [0xc639_6c6d_91c9_f7cc, 0xea5f_62f0_ddef_6e91, 0xf120_cb7c_1bd4_631f]),
    ("2q", [0x9093_dddd_a643_e22b, 0x37e9_daac_9bb2_9ba1, 0xbc8f_ca9b_7238_503c]),
    ("arc", [0x9d8b_0376_a83c_db0d, 0x27e5_822f_c070_cdce, 0x7646_43d0_c859_61f1]),
    ("s3fifo", [0x858f_3c43_ee33_2e96, 0x8721_9ad5_2edb_4b2d, 0x3e34_cda7_d7dc_b070]),
    ("sieve", [0x6889_33db_f8d6_0282, 0x9c3f_861d_78f2_acc3, 0xeb2b_2ea6_e7f2_50af]),
    ("lirs", [0x2f7d_3d10_3a97_3872, 0xe5b9_0618_8f96_9e90, 0xb8bd_7907_cc9d_71e9]),
    ("w-tinylfu", [0x854f_3cf3_dd64_5648, 0x7be9_d953_d43e_ab96, 0xc906_aef7_d6da_1963]),
];

#[test]
fn steps_of_tiers_are_what_they_were() {
    let modes = [WriteMode::Through, WriteMode::Back, WriteMode::Around, WriteMode::Only];
    for ((name, known), (at, policy)) in KNOWN.into_iter().zip((0..).zip(PolicyKind::ALL)) {
        assert_eq!(name, policy.name());
        let one = (0..24).fold(0, |sum: u64, seed| {
            let mode = modes[usize::try_from((seed + at) % 4).expect("few")];
            mix(sum ^ tier(seed * 31 + at, policy, mode))
        });
        let several = [1, 2].map(|copies| {
            (0..12).fold(0, |sum: u64, seed| mix(sum ^ cluster(seed * 17 + at, policy, copies)))
        });
        assert_eq!([one, several[0], several[1]], known, "{policy}");
    }
}
