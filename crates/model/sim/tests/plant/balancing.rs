//! Balancing of the hosts' load by moves of virtual machines.

use run_store::run::{StepEvent, StepEventKind};
use state_machine::{CpuBurst, Effects, Event, Machine, Token};
use tilemark_sim::plant::{HostEvents, Plant, PlantPlan};
use tilemark_sim::{Options, SimInstance, Simulation};
use units::Nanos;

use crate::support::{array, instance, machines};

/// Virtual machine that computes for a part of each 100 ms.
struct Burner(Nanos);

impl Machine for Burner {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start | Event::Timer(_) => {
                fx.run_cpu(CpuBurst { token: Token(0), cost: self.0, burn: false, vm: 0 });
                fx.wake_at(now + Nanos::from_millis(100), Token(0));
            }
            Event::Done(..) | Event::Ran(_) => {}
        }
    }
}

/// Runs four virtual machines, two on each of two hosts, for 20 s after the first second.
fn moves(drs: &str, busy_ms: [u64; 4]) -> Vec<StepEvent> {
    let array = array(&format!(
        r#"
        [hosts]
        count = 2
        cores = 2
        migration = {{ memory = "64MiB" }}
        {drs}
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 1
        "#
    ));
    let tiles: Vec<_> = (0..4).map(|tile| instance(tile, &[1 << 30])).collect();
    let plan = PlantPlan { array: &array, instances: &tiles, seed: 1 };
    let events = HostEvents { events: &[], restart: None };
    let plant = Plant::eventful(&plan, &events).expect("hosts can be balanced");
    let shapes = machines((0..4).map(|seed| crate::support::Load::users(seed, 0)).collect());
    let own = shapes.into_iter().zip(busy_ms).map(|(own, busy)| SimInstance {
        machine: Burner(Nanos::from_millis(busy)),
        shape: own.shape,
    });
    let options = Options { until: Nanos::from_secs(21), ..Options::default() };
    let mut simulation = Simulation::new(own.collect(), plant, options);
    simulation.next_slice().expect("time passes");
    let now = simulation.now();
    simulation.model_mut().mark(now);
    simulation.prompt(Plant::begin_events);
    while simulation.next_slice().expect("time passes").is_some() {}
    let told = simulation.model_mut().told_events();
    told.into_iter().map(|told| told.event).collect()
}

#[test]
fn busiest_host_gives_up_one_of_two_busy_vms() {
    let events = moves(r#"drs = { every = "5s" }"#, [80, 5, 80, 5]);
    let [only] = &events[..] else { panic!("{events:?}") };
    assert_eq!((only.kind, only.planned_ns), (StepEventKind::Rebalance, None));
    assert_eq!(only.began_ns, 6_000_000_000);
    let [own] = &only.tiles[..] else { panic!("{only:?}") };
    assert_eq!((own.tile, own.from.as_str(), own.to.as_deref()), (0, "host-1", Some("host-2")));
}

#[test]
fn threshold_decides_if_an_imbalance_is_worth_a_move() {
    // 0.42 and 0.17 of the hosts: a deviation of 0.125, so priority 4.
    let busy = [42, 17, 42, 17];
    assert_eq!(moves(r#"drs = { every = "5s", threshold = 3 }"#, busy), []);
    assert_eq!(moves(r#"drs = { every = "5s", threshold = 4 }"#, busy).len(), 1);
    assert_eq!(moves(r#"drs = { every = "5s", threshold = 1 }"#, [80, 5, 80, 5]), []);
    assert_eq!(moves(r#"drs = { every = "1h" }"#, [80, 5, 80, 5]), []);
}
