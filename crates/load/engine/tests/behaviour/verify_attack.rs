//! Another user of the directory plants links where verification keeps its state.

use std::fs;
use std::os::unix::fs::symlink;

use tilemark_engine::verify::{Setup, Tracker, check_all};
use units::Bytes;

use crate::disks;

const FOREIGN: &str = "what must not change";

#[test]
fn a_link_planted_for_a_state_file_leads_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    let disk = disks::on_file(&place.path().join("disk"), "disk", Bytes::MIB);
    for planted in ["disk.verify", "disk.verify.partial", "made.jsonl"] {
        let state = place.path().join(format!("state for {planted}"));
        fs::create_dir(&state).unwrap();
        fs::write(&victim, FOREIGN).unwrap();
        symlink(&victim, state.join(planted)).unwrap();
        let setup = |own| Setup { state_dir: own, seed: 1, epoch_unix_ns: 0, elsewhere: None };
        // The planted link may replace the list itself. If so, there is no directory of Tilemark to
        // use.
        let refused = match datastore::HeldDir::open(&state).and_then(datastore::OwnDir::over) {
            Ok(own) => Tracker::open(&setup(own), &disk).is_err(),
            Err(_) => true,
        };
        assert!(refused, "{planted}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), FOREIGN, "{planted}");
    }
}

#[test]
fn a_second_name_of_a_foreign_file_is_not_opened_as_state() {
    let place = tempfile::tempdir().unwrap();
    let (victim, state) = (place.path().join("victim"), place.path().join("state"));
    fs::create_dir(&state).unwrap();
    fs::write(&victim, FOREIGN).unwrap();
    fs::hard_link(&victim, state.join("disk.verify")).unwrap();
    let disk = disks::on_file(&place.path().join("disk"), "disk", Bytes::MIB);
    let setup = Setup { state_dir: disks::own(&state), seed: 1, epoch_unix_ns: 0, elsewhere: None };
    let error = Tracker::open(&setup, &disk).unwrap_err().to_string();
    assert!(error.contains("several hard links"), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), FOREIGN);
}

#[test]
fn state_directory_swapped_for_a_link_stays_the_original() {
    let place = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("disk.verify.partial");
    fs::write(&victim, FOREIGN).unwrap();
    let state = place.path().join("state");
    fs::create_dir(&state).unwrap();
    let own = disks::own(&state);
    fs::rename(&state, place.path().join("moved")).unwrap();
    symlink(elsewhere.path(), &state).unwrap();
    let disk = disks::on_file(&place.path().join("disk"), "disk", Bytes::MIB);
    let setup = Setup { state_dir: own.clone(), seed: 1, epoch_unix_ns: 0, elsewhere: None };
    drop(Tracker::open(&setup, &disk).unwrap());
    assert!(place.path().join("moved/disk.verify").exists());
    assert_eq!(fs::read_to_string(&victim).unwrap(), FOREIGN);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    assert!(check_all(&[disk], &own).unwrap().passed());
}
