//! Requests of infrastructure operations: copies, stages, and moves of other instances.

use std::collections::BTreeSet;

use spec::shipped;
use state_machine::{Content, Operation};
use tilemark_workload::moving::{MoveOrder, Moved};
use units::Nanos;

use crate::support::{Case, Trace, case, ms, secs};

const COPY: &str = r#"
    [[vm]]
    name = "clone"
    disk = [{ name = "clone", size = "64MiB" }]
    [[users]]
    name = "administrator"
    vm = "vm"
    load = { closed = { users = 1, think = "1s" } }
    [[action]]
    name = "deploy"
    steps = [
        { stage = { name = "copying", steps = [
            { copy = { from = "data", to = "clone", outstanding = 4 } },
            { flush = { disk = "clone" } },
        ] } },
        { stage = { name = "boot", steps = [{ read = { disk = "clone", size = "4k", count = 8 } }] } },
    ]
"#;

fn named<'a>(trace: &'a Trace, case: &Case, name: &str) -> Vec<&'a state_machine::ActionDone> {
    let names = case.build().actions;
    let at = names.iter().position(|own| own == name).expect("it is numbered");
    trace.actions.iter().filter(|done| usize::from(done.action.0) == at).collect()
}

#[test]
fn copy_moves_every_block_once_with_a_bounded_number_at_once() {
    let case = case(COPY);
    let trace = case.run(ms(1), secs(1));
    let copied: Vec<_> = trace.requests.iter().filter(|(_, own)| own.length == 1 << 20).collect();
    for (operation, disk) in [(Operation::Read, 0), (Operation::Write, 2)] {
        let blocks = copied.iter().filter(|(_, own)| own.operation == operation);
        let blocks: Vec<u64> = blocks
            .map(|(_, own)| {
                assert_eq!(own.disk.0, disk);
                own.offset >> 20
            })
            .collect();
        assert_eq!(blocks.len(), 64, "every block once");
        assert_eq!(blocks.iter().copied().collect::<BTreeSet<_>>(), (0..64).collect());
    }
    // Four strands, each a read and then its write: 16 rounds of 2 ms.
    let under_way =
        |at: Nanos| copied.iter().filter(|(from, _)| *from <= at && at < *from + ms(1)).count();
    assert!(copied.iter().all(|(at, _)| under_way(*at) == 4));
    let flush = trace.requests.iter().find(|(_, own)| own.operation == Operation::Flush);
    let last = copied.iter().map(|(at, _)| *at).max().expect("some");
    assert!(flush.expect("one").0 >= last + ms(1), "it makes durable what was answered");
}

#[test]
fn stages_report_own_times_that_add_up_to_the_action() {
    let case = case(COPY);
    let trace = case.run(ms(1), secs(5));
    let [whole, copying, boot] =
        ["deploy", "deploy/copying", "deploy/boot"].map(|name| named(&trace, &case, name));
    assert!(whole.len() >= 3 && whole.len() == copying.len() && whole.len() == boot.len());
    for ((whole, copying), boot) in whole.iter().zip(&copying).zip(&boot) {
        assert_eq!((whole.started, copying.finished), (copying.started, boot.started));
        assert_eq!(boot.finished, whole.finished);
        assert_eq!(boot.finished.saturating_sub(boot.started), ms(8), "eight reads of 1 ms");
    }
}

#[test]
fn failed_io_of_a_copy_fails_its_operation_and_the_next_begins() {
    let case = case(COPY);
    let mut answered = 0;
    let device = move |now: Nanos, _: &state_machine::IoRequest| {
        answered += 1;
        let result = if answered == 20 { Err(state_machine::IoError::Os(5)) } else { Ok(()) };
        sim::Completion { at: now + ms(1), result }
    };
    let trace = case.run_on(device, secs(5));
    let whole = named(&trace, &case, "deploy");
    assert!(!whole[0].ok && whole[1..].iter().all(|own| own.ok) && whole.len() >= 3);
    assert_eq!(named(&trace, &case, "deploy/boot").len(), whole.len() - 1, "it never booted");
}

#[test]
fn the_shipped_deployment_copies_its_template_and_boots() {
    let workload = shipped::workload("operations/deploy").expect("shipped");
    let case = Case { workload, footprint: 0.01, ..case("") };
    let trace = case.run(ms(1), secs(60));
    let whole = named(&trace, &case, "deploy");
    assert!(whole.len() >= 4 && whole.iter().all(|own| own.ok), "{} ended", whole.len());
    let boots = named(&trace, &case, "deploy/boot");
    let longest = boots.iter().map(|own| own.finished.saturating_sub(own.started)).max();
    assert!(longest.expect("some") >= ms(512), "512 reads in a row, four times at once");
}

/// Results of moves are given by hand, because the VMs that move are elsewhere.
#[test]
fn moves_take_turns_among_orders_and_report_pauses() {
    let workload = shipped::workload("operations/storage-migration").expect("shipped");
    let case = Case { workload, ..case("") };
    let mut built = case.build();
    let orders: Vec<_> = (0..2).map(|_| std::sync::Arc::new(MoveOrder::default())).collect();
    built.machine.give_orders(&orders);
    let mut fx = state_machine::Effects::default();
    let mut asked = Vec::new();
    let mut told = Vec::new();
    use state_machine::Machine as _;
    built.machine.handle(Nanos::ZERO, state_machine::Event::Start, &mut fx);
    while asked.len() < 4 {
        let next = fx.timers.iter().enumerate().min_by_key(|(_, (at, _))| *at).expect("one");
        let (at, token) = fx.timers.remove(next.0);
        built.machine.handle(at, state_machine::Event::Timer(token), &mut fx);
        for (number, order) in orders.iter().enumerate() {
            if order.take().is_some() {
                asked.push(number);
                let (switched, ended) = (at + secs(3), at + secs(3) + ms(40));
                let (began, checked, failed) = (at, ended + ms(5), None);
                order.tell(Moved { began, switched, ended, checked, failed });
            }
        }
        told.append(&mut fx.observations);
    }
    assert_eq!(asked, [0, 1, 0, 1]);
    let still = told.iter().filter_map(|own| match own {
        state_machine::Observation::Action(own) if own.action.0 == 2 => Some(own),
        _ => None,
    });
    let still: Vec<Nanos> = still.map(|own| own.finished.saturating_sub(own.started)).collect();
    assert!(still.len() >= 3 && still.iter().all(|time| *time == ms(40)), "{still:?}");
}

const WHOLE: &str = r#"
    [[vm]]
    name = "clone"
    disk = [{ name = "clone", size = "64MiB" }]
    [[users]]
    name = "administrator"
    vm = "vm"
    load = { closed = { users = 1, think = "1s" } }
    [[action]]
    name = "deploy"
    steps = [
        { stage = { name = "destroying", steps = [{ destroy = { disk = "clone" } }] } },
        { stage = { name = "linking", steps = [{ link = { from = "data", to = "clone" } }] } },
        { stage = { name = "checking", steps = [{ check = { from = "data", to = "clone", blocks = 8 } }] } },
    ]
"#;

#[test]
fn linked_deployment_writes_one_metadata_block_per_disk() {
    let case = case(WHOLE);
    let trace = case.run(ms(1), ms(900));
    let writes = trace.requests.iter().filter(|(_, own)| own.operation == Operation::Write);
    let writes: Vec<_> =
        writes.map(|(_, own)| (own.disk.0, own.length, own.pattern.content)).collect();
    let template = state_machine::DiskId(0);
    assert_eq!(
        writes,
        [
            (2, state_machine::METADATA, Content::Discard),
            (2, state_machine::METADATA, Content::Clone(template)),
        ]
    );
}

#[test]
fn check_reads_a_random_place_of_each_part_from_both_disks() {
    let case = case(WHOLE);
    let trace = case.run(ms(1), ms(900));
    let checks = trace.requests.iter().filter(|(_, own)| own.operation == Operation::Read);
    let mut kept = std::collections::BTreeMap::new();
    let mut parts = BTreeSet::new();
    for (_, own) in checks {
        match own.pattern.content {
            Content::Keep => {
                assert_eq!(own.disk.0, 0);
                kept.insert(own.token, own.offset);
            }
            Content::Kept => {
                assert_eq!((own.disk.0, Some(own.offset)), (2, kept.remove(&own.token)));
                parts.insert(own.offset / (8 << 20));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((own.length, own.offset % (64 << 10)), (64 << 10, 0));
    }
    assert_eq!(parts, (0..8).collect(), "one in each eighth of 64 MiB");
}

#[test]
fn a_stage_in_which_an_operation_fails_is_told_as_failed() {
    let case = case(WHOLE);
    let device = |now: Nanos, own: &state_machine::IoRequest| {
        let is_wrong = own.pattern.content == Content::Kept;
        let result = if is_wrong { Err(state_machine::IoError::Mismatch) } else { Ok(()) };
        sim::Completion { at: now + ms(1), result }
    };
    let trace = case.run_on(device, ms(900));
    let ok = |name| named(&trace, &case, name).iter().map(|own| own.ok).collect::<Vec<_>>();
    assert_eq!(ok("deploy"), [false]);
    assert_eq!(ok("deploy/linking"), [true]);
    assert_eq!(ok("deploy/checking"), [false], "and it is the one that is named");
}

#[test]
fn copy_kinds_are_copying_and_not_booting() {
    let workload = shipped::workload("operations/deploy").expect("shipped");
    let instance = Case { workload, footprint: 0.01, ..case("") }.build();
    let kinds = instance.copy_kinds().into_iter();
    let names: Vec<&str> =
        kinds.map(|kind| instance.kinds[usize::from(kind.0)].name.as_str()).collect();
    assert_eq!(names, ["template-copy-read", "clone-copy-write"]);
    assert!(instance.kinds.len() > names.len(), "the boot's reads are foreground");
}
