//! CPU time that an I/O costs a host before the I/O leaves the host.

use sim::{Options, SimInstance, run_model};
use state_machine::{
    CpuBurst, DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose,
    Stream, Token,
};
use tilemark_hardware::{
    Array, Class, Copies, CpuParameters, HostCpu, InstancePlace, IoCost, Protocol, ServiceTime,
    Site, Station,
};
use units::Nanos;

use crate::closed_forms::OpenLoad;
use crate::support::{assert_mean_is, assert_within, shape, volume};

fn request(operation: Operation, length: u32) -> IoRequest {
    IoRequest {
        token: Token(0),
        disk: DiskId(0),
        operation,
        kind: KindId(0),
        offset: 0,
        length,
        due: Nanos::ZERO,
        pattern: Pattern::default(),
        durable: false,
    }
}

#[test]
fn the_cost_of_an_io_grows_with_its_bytes_and_its_copies() {
    let cost = IoCost { per_copy: Nanos(500), copies: 3, ..Protocol::Fc.cost() };
    assert_eq!(cost.of(&request(Operation::Read, 512), Class::Foreground), Nanos(15_000));
    assert_eq!(cost.of(&request(Operation::Read, 8192), Class::Foreground), Nanos(15_000));
    assert_eq!(cost.of(&request(Operation::Read, 8193), Class::Foreground), Nanos(17_000));
    assert_eq!(
        cost.of(&request(Operation::Write, 65536), Class::Foreground),
        Nanos(15_000 + 7 * 2000 + 2 * 500)
    );
    assert_eq!(cost.of(&request(Operation::Flush, 0), Class::Foreground), Nanos(15_000));
    assert_eq!(
        IoCost::default().of(&request(Operation::Write, 8192), Class::Foreground),
        Nanos::ZERO
    );
    let older = cost.scaled(2.0);
    assert_eq!(older.of(&request(Operation::Read, 16384), Class::Foreground), Nanos(34_000));
}

/// The relation TR-3808 publishes: NFS needs 145 % of the CPU of Fibre Channel.
#[test]
fn nfs_costs_145_per_cent_of_fibre_channel() {
    let of = |protocol: Protocol| {
        protocol.cost().of(&request(Operation::Read, 4096), Class::Foreground).0 as f64
    };
    assert_within(1e-9, of(Protocol::Nfs) / of(Protocol::Fc), 1.45, "NFS");
    assert!(
        Protocol::ALL
            .is_sorted_by_key(|p| p.cost().of(&request(Operation::Write, 4096), Class::Foreground))
    );
}

/// Reads that come at random, of random sizes, beside threads that compute all the time.
struct Guest {
    gap: Nanos,
    /// Mean size in units of 8 KiB, exponentially distributed; one unit if zero.
    units: f64,
    threads: u32,
    stream: Stream,
    started: Vec<Nanos>,
    latency: f64,
    answered: u32,
    bursts: u64,
}

const BURST: Nanos = Nanos::from_millis(7);
const COMPUTE: Token = Token(u32::MAX);

impl Guest {
    fn read(&mut self, now: Nanos, fx: &mut Effects) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few MB")]
        let units = (-self.units * libm::log(1.0 - self.stream.unit())).ceil().max(1.0) as u32;
        let token = Token(u32::try_from(self.started.len()).unwrap());
        self.started.push(now);
        fx.submit(IoRequest { token, ..request(Operation::Read, units * 8192) });
        fx.wake_at(now + self.stream.exponential(self.gap), Token(0));
    }
}

impl Machine for Guest {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        let burst = CpuBurst { token: COMPUTE, cost: BURST, burn: false, vm: 0 };
        match event {
            Event::Start => {
                (0..self.threads).for_each(|_| fx.run_cpu(burst));
                self.read(now, fx);
            }
            Event::Timer(_) => self.read(now, fx),
            Event::Done(token, _) => {
                self.latency += (now - self.started[token.0 as usize]).as_secs_f64();
                self.answered += 1;
            }
            Event::Ran(_) => {
                self.bursts += 1;
                fx.run_cpu(burst);
            }
        }
    }
}

const DEVICE: Nanos = Nanos::from_micros(100);

fn guest(seed: u64, rate: f64, units: f64, threads: u32) -> Guest {
    Guest {
        gap: Nanos::from_secs_f64(1.0 / rate),
        units,
        threads,
        stream: Stream::derive(seed, &[], Purpose::User),
        started: Vec::new(),
        latency: 0.0,
        answered: 0,
        bursts: 0,
    }
}

/// Runs a guest for some seconds in front of storage that takes [`DEVICE`] for everything.
fn run(machine: Guest, cores: u32, io_cost: IoCost, seconds: u64) -> (Guest, Site) {
    let mut host = HostCpu::new(CpuParameters::cores(cores)).unwrap();
    let vms = vec![(0, host.add_machine(64))];
    let mut array = Array::new();
    let entry = array.add(Station::new(4096, ServiceTime::Constant(DEVICE), None).unwrap());
    array.add_instance(&[volume(entry)]);
    let places = vec![InstancePlace { vms, disk_vms: vec![0] }];
    let mut site = Site::new(array, vec![host], places).with_io_cost(io_cost);
    let mut instances = [SimInstance { machine, shape: shape(0) }];
    let until = Nanos::from_secs(seconds);
    let options = Options { until, slice: until, events_per_instant_max: 100_000 };
    run_model(&mut instances, &mut site, &options, &mut |_| {}).expect("time passes");
    let [instance] = instances;
    (instance.machine, site)
}

fn mean(guest: &Guest) -> f64 {
    guest.latency / f64::from(guest.answered) - DEVICE.as_secs_f64()
}

/// Work of constant length on one core.
#[test]
fn equal_ios_wait_for_one_core_as_m_d_1() {
    let cost = IoCost { per_io: Nanos::from_micros(100), ..IoCost::default() };
    let exact = OpenLoad { arrivals: 7000.0, service: 1e-4 }.m_d_1();
    assert_mean_is(exact, "M/D/1", |seed| mean(&run(guest(seed, 7000.0, 0.0, 0), 1, cost, 10).0));
}

/// Sizes that are exponentially distributed, in steps of a hundredth, cost work that is.
#[test]
fn ios_of_random_cost_wait_for_cores_as_m_m_c() {
    let per = Nanos::from_micros(2);
    let cost = IoCost { per_io: per, per_8k: per, ..IoCost::default() };
    // The mean of an exponential rounded up to whole steps is half a step more, very nearly.
    let service = 100.5 * 2e-6;
    let exact = OpenLoad { arrivals: 12_000.0, service }.m_m_c(3);
    assert_mean_is(exact, "M/M/3", |seed| {
        mean(&run(guest(seed, 12_000.0, 100.0, 0), 3, cost, 10).0)
    });
}

#[test]
fn jumbo_frames_lower_the_cost_of_large_ios() {
    let jumbo = IoCost {
        per_io: Nanos(1000),
        per_8k: Nanos(10),
        per_frame: Nanos(100),
        frame_data: 8960,
        ..IoCost::default()
    };
    let usual = IoCost { frame_data: 1460, ..jumbo };
    let of = |cost: IoCost, length| cost.of(&request(Operation::Read, length), Class::Foreground).0;
    assert_eq!((of(usual, 65536), of(jumbo, 65536)), (1070 + 4500, 1070 + 800));
    assert_eq!((of(usual, 1), of(jumbo, 1), of(jumbo, 0)), (1100, 1100, 1000));
    assert_eq!(of(IoCost { frame_data: 0, ..jumbo }, 65536), 1070, "a link without frames");
    let offloaded = IoCost { full_copies: Copies::InArray, ..jumbo };
    assert_eq!(of(offloaded, 65536), 1870, "foreground costs what it did");
    let copy = request(Operation::Read, 65536);
    assert_eq!(offloaded.of(&copy, Class::Copy), Nanos(1000), "a command");
    assert_eq!(jumbo.of(&copy, Class::Copy), Nanos(1870), "the host copies");
}

#[test]
fn busy_guests_do_not_delay_ios_but_ios_take_their_cores() {
    let cost = IoCost { per_io: Nanos::from_micros(50), ..IoCost::default() };
    let (busy, mut site) = run(guest(1, 4000.0, 0.0, 8), 4, cost, 20);
    assert_within(0.002, mean(&busy), 50e-6, "an I/O interrupts a guest");
    let system = f64::from(busy.answered) * 50e-6 / 20.0;
    let guests = busy.bursts as f64 * BURST.as_secs_f64() / 20.0;
    assert_within(0.005, guests + system, 4.0, "four cores' worth of work");
    let total = site.hosts[0].total(Nanos::from_secs(20));
    assert_eq!(total.used, Nanos::from_secs(80));
    assert_within(1e-4, total.system.as_secs_f64() / 20.0, system, "work for I/Os");
}

#[test]
fn without_a_cost_an_io_is_as_fast_as_the_storage() {
    let (idle, _) = run(guest(1, 1000.0, 0.0, 8), 1, IoCost::default(), 2);
    assert!(mean(&idle).abs() < 1e-12);
}
