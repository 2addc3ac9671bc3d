//! The workload of real mails has the demand of its sources.

use std::path::Path;

use tilemark_spec as spec;

use spec::workload::{Load, Step, Workload};

use crate::messages::render;

fn workload() -> Workload {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../data/tiles/workloads/mail-real.toml");
    let text = std::fs::read_to_string(path).expect("the file");
    spec::load_workload("mail-real", &text).unwrap_or_else(|error| panic!("{}", render(&error)))
}

/// Mean over the actions of a group of a number that each asks for, and the group's rate a second.
fn mean(workload: &Workload, group: &str, number: impl Fn(&str) -> f64) -> (f64, f64) {
    let users = workload.groups.iter().find(|own| own.name == group).expect("a group");
    let Load::Paced { rate, .. } = &users.load else { panic!("not paced") };
    let mix = users.mix.as_ref().expect("a mix");
    let (mut sum, mut weights) = (0.0, 0.0);
    for (name, weight) in mix {
        let action = workload.actions.iter().find(|own| own.name == *name).expect("an action");
        let [Step::Call(call)] = &action.steps[..] else { panic!("{name} is not one call") };
        sum += weight * number(call.ask.as_deref().expect("an ask"));
        weights += weight;
    }
    (sum / weights, rate.get())
}

fn near(what: &str, value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.02, "{what} is {value}, expected {expected}");
}

#[test]
fn real_mails_have_the_published_sizes_and_rates() {
    let workload = workload();
    let word = |ask: &str, at: usize| ask.split(' ').nth(at).expect("a word").to_owned();
    let to = |ask: &str| word(ask, 1).split(',').count() as f64;
    let (recipients, rate) = mean(&workload, "senders", to);
    near("mails a minute", rate * 60.0, 325.0);
    near("recipients", recipients, 4.7);
    near("deliveries a second", recipients * rate, 25.0);
    let (bytes, _) = mean(&workload, "senders", |ask| word(ask, 2).parse().expect("a number"));
    near("bytes", bytes, 3937.5);
}

#[test]
fn sessions_of_real_mailboxes_have_the_published_rates() {
    let workload = workload();
    for (step, expected) in [("read=", 31.0), ("move=", 6.0), ("delete=", 12.0)] {
        let count = |ask: &str| {
            let counts = ask.split(' ').filter_map(|word| word.strip_prefix(step));
            counts.map(|count| count.parse::<f64>().expect("a number")).sum()
        };
        let (messages, rate) = mean(&workload, "readers", count);
        assert_eq!(rate, 4.6);
        near(step, messages * rate, expected);
    }
}
