//! Workloads with real servers request the same work as their dialogues. `mails.rs` checks mails
//! and sessions against their sources.

use tilemark_spec as spec;

use spec::shipped;
use spec::workload::{Limit, Step, Workload};

fn workload(name: &str) -> Workload {
    shipped::workload(name).expect("a shipped workload")
}

/// Names of the dialogues that have a workload with real servers.
fn dialogues() -> Vec<&'static str> {
    let real = shipped::workload_names().filter_map(|name| name.strip_suffix("-real"));
    real.filter(|name| !name.ends_with("-like")).collect()
}

/// Limits without their sources.
fn limits(workload: &Workload) -> Vec<Limit> {
    let of = |own: &Limit| Limit { source: String::new(), ..own.clone() };
    workload.limits.iter().map(of).collect()
}

/// Name and weight of each action.
fn actions(workload: &Workload) -> Vec<(&str, f64)> {
    workload.actions.iter().map(|own| (own.name.as_str(), own.weight)).collect()
}

#[test]
fn every_real_workload_is_compared() {
    assert_eq!(dialogues(), ["shop", "mail", "web"], "a new one needs a test here");
}

#[test]
fn real_shop_and_site_have_the_demand_of_their_dialogues() {
    for name in ["shop", "web"] {
        let (dialogue, real) = (workload(name), workload(&format!("{name}-real")));
        // Users, their VMs, loads, think times, schedules and mixes.
        assert_eq!(real.groups, dialogue.groups, "{name}");
        assert_eq!(actions(&real), actions(&dialogue), "{name}");
        assert_eq!(limits(&real), limits(&dialogue), "{name}");
        assert_eq!(real.metric, dialogue.metric, "{name}");
        let vms = |own: &Workload| -> Vec<(String, u32)> {
            own.vms.iter().map(|vm| (vm.name.clone(), vm.vcpus)).collect()
        };
        assert_eq!(vms(&real), vms(&dialogue), "{name}");
        let steps = real.actions.iter().flat_map(|own| &own.steps);
        for step in steps {
            assert!(matches!(step, Step::Call(_)), "{name}: a real server does the rest: {step:?}");
        }
    }
}

#[test]
fn real_mail_is_sent_as_often_as_in_its_dialogue() {
    let (dialogue, real) = (workload("mail"), workload("mail-real"));
    let senders = |own: &Workload| {
        let senders = own.groups.iter().find(|group| group.name == "senders").expect("senders");
        (senders.load.clone(), senders.schedule)
    };
    assert_eq!(senders(&real), senders(&dialogue));
    let [metric, other] = [&real, &dialogue].map(|own| {
        let metric = own.metric.clone();
        (metric.unit, metric.count, metric.per)
    });
    assert_eq!(metric, other);
    let time = |own: &Workload| -> Vec<_> {
        own.limits.iter().map(|limit| (limit.percentile, limit.limit)).collect()
    };
    let [times, of_dialogue] = [time(&real), time(&dialogue)];
    assert_eq!(of_dialogue.len(), 1);
    // One limit for all sizes of mails, one for lateness.
    assert_eq!(times, [of_dialogue[0], of_dialogue[0]]);
}

/// Dialogues with the I/O of real servers have their users; the groups after these do the servers'
/// work in the background.
#[test]
fn dialogues_like_real_servers_have_their_users_and_limits() {
    for name in ["shop", "mail"] {
        let (real, like) =
            (workload(&format!("{name}-real")), workload(&format!("{name}-like-real")));
        for group in real.groups.iter().filter(|group| group.name != "readers") {
            let own = like.groups.iter().find(|own| own.name == group.name).expect("its users");
            assert_eq!((&own.load, own.schedule), (&group.load, group.schedule), "{name}");
        }
        let longest = |own: &Workload| own.limits.iter().map(|limit| limit.limit).max();
        assert_eq!(longest(&like), longest(&real), "{name}");
        assert_eq!((&like.metric.unit, like.metric.per), (&real.metric.unit, real.metric.per));
    }
}
