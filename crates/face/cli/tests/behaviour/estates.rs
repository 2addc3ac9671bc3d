//! An estate becomes a tile, and the answer of a run is given in VMs of the estate.

use crate::rig::{Workspace, err, out, simulate_words};

fn write(place: &Workspace, name: &str, text: &str) -> String {
    place.write(name, text);
    place.path(name).display().to_string()
}

fn import(place: &Workspace, more: &[&str]) -> (Option<i32>, String, String) {
    let lab = place.path("lab").display().to_string();
    let output = place.output(&[&["estate", "import", "--out", &lab][..], more].concat());
    (output.status.code(), out(&output), err(&output))
}

#[test]
fn vm_list_becomes_a_tile_and_answer_counts_its_vms() {
    let place = Workspace::new();
    let list = out(&place.output(&["estate", "example", "--vms", "150"]));
    let list = write(&place, "vms.csv", &list);
    let (code, text, said) = import(&place, &[&list]);
    assert_eq!(code, Some(0), "{said}");
    assert!(text.starts_with("144 virtual machines as "), "{text}");
    assert!(text.contains("left out   3 templates, 3 not running"), "{text}");
    let lab = place.path("lab").display().to_string();
    let words =
        ["--array", "hdd-raid10", "--estate", &lab, "--tiles", "1..2", "--footprint", "0.001"];
    let output = place.output(&simulate_words(&words));
    let answer = out(&output);
    let told = answer
        .lines()
        .any(|line| line.starts_with("Of the estate, by speed: this simulated array would carry"));
    assert!(told, "{answer}{}", err(&output));
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the load of 100 % of its VMs is assumed"), "{answer}");
    assert!(words.contains("Plan with 20 of your 144 VMs by this model: at least 20"), "{answer}");
}

#[test]
fn import_overwrites_nothing_and_names_bad_rows() {
    let place = Workspace::new();
    let list = write(&place, "vms.csv", "VM,Used GiB\nweb,1\n,2\nweb,3\n");
    let (code, _, said) = import(&place, &[&list]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("row 3: it names no virtual machine"), "{said}");
    assert!(said.contains("row 4: VM \"web\" is listed twice"), "{said}");
    let (code, _, said) = import(&place, &[&list]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("exists already"), "{said}");
    let words = ["run", "--estate", "nowhere", "/tmp"];
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("nowhere/tile.toml"), "{}", err(&output));
}

/// JSON of a hypervisor beside some `tile.toml` was taken for a file of an estate, and that tile was
/// simulated, for as long as its search took.
#[test]
fn a_list_given_as_an_estate_is_refused_with_the_import() {
    let place = Workspace::new();
    for (name, text) in [("vms.csv", "VM,Used GiB\nweb,1\n"), ("cluster.json", "[]")] {
        let list = write(&place, name, text);
        let output = place.output(&["simulate", "--array", "hdd-raid10", "--estate", &list]);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        let hint = format!("tilemark estate import {list} --out NAME");
        assert!(err(&output).contains(&hint), "{}", err(&output));
    }
}
