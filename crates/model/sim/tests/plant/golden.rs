//! The same plants and state machines give results that are identical to the bit, before and after
//! changes of the code.

use run_store::recorder::InstanceShape;
use run_store::run::ModelFacts;
use run_store::slice::{InstanceId, VmId};
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
    mix,
};
use tilemark_sim::plant::{PlantInstance, Warm, WarmFilter};
use tilemark_sim::{Options, SimInstance, Simulation};
use units::{Bytes, Nanos};

use crate::support::{array, instance, plant};

const GB: u64 = 1 << 30;

/// Users that read, write and flush on all disks, small and large, and record each completion with
/// its time.
#[derive(Debug, Clone)]
struct Mixed {
    users: u32,
    disks: u64,
    span: u64,
    stream: Stream,
    hash: u64,
    run: u64,
}

impl Mixed {
    fn request(&mut self, now: Nanos, user: u32, fx: &mut Effects) {
        let operation = match self.stream.below(50) {
            0 => Operation::Flush,
            1..=22 => Operation::Write,
            _ => Operation::Read,
        };
        let sectors = self.span / 512;
        let (sector, length) = match self.stream.below(8) {
            0 => (self.run % sectors, 256),
            1 => (self.stream.below(sectors >> 10) << 10, 1 << 10),
            2 | 3 => (self.stream.below(sectors >> 7) << 7, 128),
            _ => {
                let unit = self.stream.unit();
                (Bytes::new(sectors).scale(unit * unit).get(), 1 + self.stream.below(64))
            }
        };
        let length = length.min(sectors - sector);
        self.run = sector + length;
        let is_flush = operation == Operation::Flush;
        fx.submit(IoRequest {
            token: Token(user),
            disk: DiskId(u16::try_from(self.stream.below(self.disks)).expect("few")),
            operation,
            kind: KindId(0),
            offset: if is_flush { 0 } else { sector * 512 },
            length: if is_flush { 0 } else { u32::try_from(length * 512).expect("small") },
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }
}

impl Machine for Mixed {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => (0..self.users).for_each(|user| self.request(now, user, fx)),
            Event::Done(token, result) => {
                self.hash = mix(self.hash ^ mix(now.0) ^ u64::from(token.0) << 1);
                self.hash ^= u64::from(result.is_err());
                if self.stream.below(3) == 0 {
                    let at = now + self.stream.exponential(Nanos::from_millis(2));
                    fx.wake_at(at, token);
                } else {
                    self.request(now, token.0, fx);
                }
            }
            Event::Timer(token) => self.request(now, token.0, fx),
            Event::Ran(_) => {}
        }
    }
}

fn machines(count: u32, seed: u64) -> Vec<SimInstance<Mixed>> {
    let instance = |number: u32| SimInstance {
        machine: Mixed {
            users: 6,
            disks: 2,
            span: GB,
            stream: Stream::derive(seed, &[u64::from(number)], Purpose::User),
            hash: 0,
            run: 0,
        },
        shape: InstanceShape {
            instance: InstanceId(number),
            disk_vms: vec![VmId(number); 2],
            kinds: 1,
            actions: 1,
            groups: 1,
        },
    };
    (0..count).map(instance).collect()
}

fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
}

fn instances() -> Vec<PlantInstance> {
    (0..3)
        .map(|number| {
            let mut own = instance(number / 2, &[GB, GB]);
            own.vcpus = vec![1, 1];
            own.vms = vec![format!("load/{number}-one"), format!("load/{number}-two")];
            own.disks[1].vm = 1;
            own
        })
        .collect()
}

/// Tiers had no memory above their pages then, and modelled ones have none now. Nothing was counted of
/// copies, which these plants have none of. Histograms were
/// shown as they lay in memory.
fn without_memory(text: &str) -> String {
    let text = ["memory_hits", "memory_held_bytes", "memory_taken_bytes"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(&format!(" {name}: 0,"), ""))
        .replace(" copies: None,", "");
    let mut parts = text.split("Compact { buckets: [");
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| text + &packed(part))
}

/// Text of a histogram from its buckets on, in the form of then: number of the bucket in the upper half
/// of an entry, count in the lower.
fn packed(part: &str) -> String {
    let (buckets, rest) = part.split_once(']').expect("a list ends");
    let numbers: Vec<u64> = buckets
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let (mut entries, mut count) = (Vec::new(), 0);
    for bucket in numbers.chunks_exact(2) {
        let shift = 56 - (bucket[0] | 0xff).leading_zeros();
        let number = (u64::from(shift) << 7) + (bucket[0] >> shift);
        let mut left = bucket[1];
        count += left;
        while left > 0 {
            let full = left.min(0xffff);
            entries.push(number << 16 | full);
            left -= full;
        }
    }
    format!("Packed {{ entries: {entries:?}, count: {count}{rest}")
}

/// Kinds of parts were texts when these answers were written down, and hosts had one frequency.
fn facts_text(facts: &ModelFacts) -> String {
    let kinds = [
        ("Disk", "disk"),
        ("TierDisk", "tier-disk"),
        ("Link", "link"),
        ("Queue", "queue"),
        ("Processor", "processor"),
        ("WriteMemory", "write-memory"),
    ];
    let facts = without_memory(&format!("{facts:?}")).replace(" cycles: None,", "");
    kinds.iter().fold(facts, |text, (now, then)| {
        text.replace(&format!("kind: {now},"), &format!("kind: {then:?},"))
    })
}

fn hash_of(text: &str, seconds: u64, is_warm: bool) -> u64 {
    let array = array(text);
    let instances = instances();
    let mut plant = plant(&array, &instances);
    let mut hash = 0;
    if is_warm {
        let options = Warm {
            filter: if seconds.is_multiple_of(2) { WarmFilter::Kept } else { WarmFilter::Bypassed },
            accesses_per_tile_max: 30_000,
            ..Warm::default()
        };
        let report = plant.warm(&mut machines(3, 99), &options);
        hash = text_hash(&format!("{report:?}"));
        let state = plant.snapshot();
        hash = mix(hash ^ state.dirty_bytes());
        plant.restore(&state).expect("its own");
    }
    let options = Options { until: Nanos::MAX, ..Options::default() };
    let mut simulation = Simulation::new(machines(3, 1), plant, options);
    for second in 1..=seconds {
        simulation.next_slice().expect("time passes");
        let now = simulation.now();
        if second == 1 {
            simulation.model_mut().mark(now);
        } else {
            simulation.model_mut().tick(now);
        }
        let tiers = simulation.model_mut().tiers();
        hash = mix(hash ^ text_hash(&without_memory(&format!("{tiers:?}"))));
    }
    let now = simulation.now();
    let facts = simulation.model_mut().facts(now);
    hash = mix(hash ^ text_hash(&facts_text(&facts)));
    simulation.stop();
    while simulation.next_slice().expect("time passes").is_some() {}
    hash = mix(hash ^ text_hash(&format!("{:?}", simulation.outcome())));
    let (instances, _) = simulation.into_parts();
    instances.iter().fold(hash, |hash, own| mix(hash ^ own.machine.hash))
}

fn tiered(head: &str, tier: &str) -> String {
    format!(
        r#"
        {head}
        [[tier]]
        name = "fast"
        size = "192MiB"
        disk = "ssd-nvme-mqsim"
        {tier}
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 4
        raid = "raid10"
        "#
    )
}

/// Results of plants, cold and warmed, before the last change of the models. A refactoring must
/// give the same results. Any other change updates the results here.
const KNOWN: [(&str, u64, u64); 16] = [
    ("back", 0x7d67_da2c_8742_9605, 0x80ae_f295_b83f_c845),
    ("through", 0x9450_aebe_0520_0797, 0xcbe9_cc5d_d7e1_b429),
    ("around", 0x5488_256f_8185_fd6b, 0xf370_e4b0_17ab_ce70),
    ("only", 0xfa79_0cf3_c9f4_693a, 0xd976_1194_ed59_fcef),
    ("third", 0x8ec3_34a1_8809_33ef, 0x949b_781d_7ab7_c387),
    ("share", 0xa000_fea6_3d38_152e, 0x4202_da0a_9d9c_d573),
    ("first", 0xfcc4_7c5e_a658_f3ac, 0x2b9b_4b73_1083_4fe1),
    ("memory", 0x0f52_9a44_17c6_33ff, 0x423a_0347_cb4c_1577),
    ("hosts", 0xd589_f73a_b4ee_6c7e, 0xa968_d1c2_f16b_2588),
    ("one copy", 0x87bf_2ac9_b0d6_75a3, 0xbce4_57ab_bacb_5571),
    ("two copies", 0x7436_99a0_2740_04a5, 0x88dc_b9a4_e0cb_5b66),
    ("copies only", 0x0cff_1ebd_cbeb_1aae, 0x9dbd_91a0_7be0_59cb),
    ("two tiers", 0x6b20_045a_e51f_f84b, 0x7408_fa7b_1179_2062),
    ("two tiers, copies", 0xef9c_0feb_d3fc_0aa1, 0x5bcd_12cc_6ef1_e405),
    ("local", 0xfb47_ba8a_adc5_be1b, 0x2610_ff72_e629_2900),
    ("local, copies", 0x6446_9c1d_b91a_a182, 0x2a70_b0e7_eed1_d8c9),
];

#[test]
fn answers_of_plants_are_what_they_were() {
    let hosts = "[hosts]\ncount = 3\ncores = 4\n[link]\nkind = \"ethernet-10g\"\n";
    let near = "at = \"host\"\n";
    let clustered = |rest: &str| {
        tiered(hosts, &format!("{near}dirty-high = \"10%\"\ndirty-low = \"5%\"\n{rest}"))
    };
    let local = r#"
    [hosts]
    count = 4
    cores = 4
    [link]
    kind = "ethernet-10g"
    [local]
    copies = 2
    groups = 2
    cache = "ssd-sata-enterprise"
    read-share = "70%"
    disk = "hdd-10k"
    count = 2
    "#;
    let two = |replicas: u32| {
        tiered(
            hosts,
            &format!(
                "{near}dirty-high = \"10%\"\ndirty-low = \"5%\"\nreplicas = {replicas}\n\
         [[tier]]\nname = \"mid\"\nsize = \"400MiB\"\ndisk = \"ssd-nvme-mqsim\"\nadmit-on = 2\n"
            ),
        )
    };
    let plants = [
        ("back", tiered("", ""), 6),
        ("through", tiered("", "write = \"through\"\npolicy = \"2q\"\n"), 5),
        ("around", tiered("", "write = \"around\"\npolicy = \"arc\"\n"), 6),
        ("only", tiered("", "write = \"only\"\npolicy = \"s3fifo\"\n"), 5),
        (
            "third",
            tiered("", "admit-on = 3\nadmit-all-below = \"50%\"\nsequential-cutoff = \"1MiB\"\n"),
            6,
        ),
        (
            "share",
            tiered(
                "",
                "share-max = \"20%\"\npage = \"16KiB\"\ndirty-high = \"20%\"\ndirty-low = \"10%\"\n",
            ),
            5,
        ),
        (
            "first",
            tiered(
                "[controller]\nmemory-first = true\nwrite-memory = { size = \"64MiB\" }\nread-memory = { size = \"32MiB\" }\n",
                "",
            ),
            6,
        ),
        (
            "memory",
            tiered(
                "[controller]\nwrite-memory = { size = \"64MiB\" }\nread-memory = { size = \"32MiB\" }\n",
                "",
            ),
            5,
        ),
        ("hosts", tiered(hosts, near), 6),
        ("one copy", clustered("replicas = 1\n"), 6),
        ("two copies", clustered("replicas = 2\npage = \"16KiB\"\npolicy = \"sieve\"\n"), 5),
        (
            "copies only",
            clustered("replicas = 1\nwrite = \"only\"\nsequential-cutoff = \"1MiB\"\n"),
            6,
        ),
        ("two tiers", two(0), 6),
        ("two tiers, copies", two(1), 5),
        ("local", local.to_owned(), 6),
        (
            "local, copies",
            format!(
                "{local}\n[[tier]]\nname = \"near\"\nsize = \"64MiB\"\ndisk = \"ssd-nvme-mqsim\"\n{near}dirty-high = \"10%\"\ndirty-low = \"5%\"\nreplicas = 1\n"
            ),
            6,
        ),
    ];
    let found = plants.map(|(name, text, seconds)| {
        (name, hash_of(&text, seconds, false), hash_of(&text, seconds - 1, true))
    });
    assert_eq!(found, KNOWN);
}
