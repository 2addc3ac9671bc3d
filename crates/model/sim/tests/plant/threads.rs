//! Run queues of a host's threads, from an array's file.

use state_machine::{CpuBurst, Effects, Event, Machine, Token};
use tilemark_sim::{Options, SimInstance, Simulation};
use units::Nanos;

use crate::support::{Load, array, assert_within, instance, machines, plant};

/// Virtual machine that computes for 50 of each 100 ms, or not at all.
struct Burner {
    is_idle: bool,
}

impl Machine for Burner {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if matches!(event, Event::Start | Event::Timer(_)) && !self.is_idle {
            let cost = Nanos::from_millis(50);
            fx.run_cpu(CpuBurst { token: Token(0), cost, burn: false, vm: 0 });
            fx.wake_at(now + Nanos::from_millis(100), Token(0));
        }
    }
}

/// Share of the time for which virtual machines of a host of two cores were ready. The first and
/// the third compute at the same time, and their first thread is the same.
fn ready(queues: &str) -> f64 {
    let array = array(&format!(
        r#"
        [hosts]
        count = 1
        cores = 2
        {queues}
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 1
        "#
    ));
    let tiles: Vec<_> = (0..3).map(|tile| instance(tile, &[1 << 30])).collect();
    let shapes = machines((0..3).map(|seed| Load::users(seed, 0)).collect());
    let own = shapes
        .into_iter()
        .enumerate()
        .map(|(at, own)| SimInstance { machine: Burner { is_idle: at == 1 }, shape: own.shape });
    let options = Options { until: Nanos::from_secs(11), ..Options::default() };
    let mut simulation = Simulation::new(own.collect(), plant(&array, &tiles), options);
    simulation.next_slice().expect("time passes");
    let now = simulation.now();
    simulation.model_mut().mark(now);
    while simulation.next_slice().expect("time passes").is_some() {}
    let now = simulation.now();
    simulation.model_mut().facts(now).hosts[0].ready
}

#[test]
fn thread_queues_of_a_file_keep_virtual_cpus_waiting() {
    assert_eq!(ready(""), 0.0, "one queue for both cores");
    assert_eq!(ready("thread-queues = {}"), 0.0, "the other core is looked at");
    let stay = r#"thread-queues = { search = 0 }"#;
    assert_within(0.01, ready(stay), 0.5, "one waits for the other in 50 of each 100 ms");
}
