//! Power of a plant: of hosts by their load, of disks by their utilisation.

use run_store::gauge::GaugeName;
use run_store::run::{EnergyBy, MeterMethod, MeterScope};
use tilemark_sim::plant::meters;
use tilemark_sim::{Options, Simulation};
use units::Nanos;

use crate::support::{Load, ONE_SERVER, array, assert_within, instance, machines, plant};

/// Two hosts of which only the first runs anything, 50 us of CPU for an I/O, and one disk.
const POWERED: &str = r#"
    [hosts]
    count = 2
    cores = 2
    io-cpu = { per-io = "50us" }
    power = { source = "ours", idle = 100, core = 40, awake = 5 }
    [power]
    source = "ours"
    static = 200
    disk.plain = { idle = 8, active = 18 }
"#;

#[test]
fn host_power_follows_cores_and_storage_power_follows_disks() {
    let array = array(&format!("{POWERED}{ONE_SERVER}"));
    let plant = plant(&array, &[instance(0, &[2 << 30])]);
    let load = vec![Load::arrivals(1, Nanos::from_micros(2500))];
    let options = Options { until: Nanos::MAX, ..Options::default() };
    let mut simulation = Simulation::new(machines(load), plant, options);
    simulation.next_slice().expect("time passes");
    let begun = simulation.now();
    simulation.model_mut().mark(begun);
    simulation.model_mut().watts(begun);
    let (mut gauges, mut count) = ([0.0; 3], 0.0);
    for _ in 0..20 {
        simulation.next_slice().expect("time passes");
        let now = simulation.now();
        simulation.model_mut().tick(now);
        let told = simulation.model_mut().watts(now);
        let names: Vec<&str> = told.iter().map(|own| own.scope.as_str()).collect();
        assert_eq!(names, ["host-1", "host-2", "storage"]);
        assert!(told.iter().all(|own| own.name == GaugeName::PowerWatts));
        told.iter().zip(&mut gauges).for_each(|(own, sum)| *sum += own.value);
        count += 1.0;
    }
    let now = simulation.now();
    let facts = simulation.model_mut().facts(now);
    let energy = simulation.model_mut().energy(now);
    // A core at work takes 40 W and does not take the 5 W of one that idles.
    let busy = facts.hosts[0].used * 2.0;
    assert_within(0.02, busy, 0.02, "400 I/Os of 50 us a second");
    let wanted = [110.0 + 35.0 * busy, 110.0, 208.0 + 10.0 * facts.parts[0].utilisation];
    for ((own, wanted), gauges) in energy.iter().zip(wanted).zip(gauges) {
        let watts = own.mean_watts.value.expect("they are known");
        assert_within(1e-6, watts, wanted, &own.meter);
        assert_within(1e-9, own.joules.value.expect("known"), watts * 20.0, "energy");
        assert_within(1e-9, gauges / count, watts, "the gauges come to the same");
        assert!(own.most_watts.expect("there were seconds") >= watts, "{own:?}");
        assert_eq!((own.by, own.samples), (Some(EnergyBy::Integral), 20));
    }
    assert_eq!(energy[2].scope, MeterScope::Storage);
}

#[test]
fn what_supplies_are_is_known_before_anything_runs() {
    let told = meters(&array(&format!("{POWERED}{ONE_SERVER}")));
    let idle: Vec<_> = told.iter().map(|own| (own.name.as_str(), own.idle_watts.value)).collect();
    // Two cores that never sleep; a disk at rest.
    assert_eq!(idle, [("host-1", Some(110.0)), ("host-2", Some(110.0)), ("storage", Some(208.0))]);
    assert!(told.iter().all(|own| own.method == MeterMethod::Modelled), "{told:?}");
    assert_eq!(meters(&array(ONE_SERVER)), []);
}
