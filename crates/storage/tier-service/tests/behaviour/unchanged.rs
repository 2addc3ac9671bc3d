//! Pages survive a restart only if nobody wrote to the backing store meanwhile.

use std::fs::{File, FileTimes, OpenOptions};
use std::os::unix::fs::FileExt;

use tilemark_tier_service::{Caching, Set, SetError};

use crate::served::{Host, identity, open};
use tier::Mode;

/// Host with a disk whose first 256 KiB are in pages, closed in order.
fn used(mode: Mode) -> Host {
    let host = Host::new(mode);
    let served = host.serve();
    let mut client = host.client();
    for at in 0..4 {
        client.write(at << 16, &[7; 1 << 16]).expect("it is taken");
        client.read(at << 16, 1 << 16).expect("it is there");
    }
    client.flush().expect("a flush is answered");
    drop(client);
    served.running.stop().expect("it ends in order");
    host
}

/// Writes to the backing file without the tier, and restores its modification time.
fn write_without(host: &Host) {
    let file = OpenOptions::new().write(true).open(host.backing()).expect("the file");
    let written = file.metadata().and_then(|found| found.modified()).expect("a time");
    file.write_all_at(&[9; 4096], 0).expect("room");
    file.set_times(FileTimes::new().set_modified(written)).expect("put back");
}

#[test]
fn pages_are_kept_where_nobody_wrote() {
    let host = used(Mode::Through);
    let file = File::open(host.backing()).expect("the file");
    let is_provable = datastore::change_mark(&file, false).expect("it can be asked").is_some();
    assert_eq!(host.serve().pages > 0, is_provable);
}

#[test]
fn write_without_the_tier_makes_pages_cold() {
    let host = used(Mode::Through);
    write_without(&host);
    let served = host.serve();
    assert_eq!(served.pages, 0);
    assert_eq!(host.client().read(0, 4096).expect("it is there"), [9; 4096]);
}

#[test]
fn replaced_backing_file_is_refused_until_its_owner_says_so() {
    let host = used(Mode::Through);
    let other = host.directory.path().join("other.raw");
    std::fs::copy(host.backing(), &other).expect("room");
    std::fs::rename(&other, host.backing()).expect("the same name");
    let Err(SetError::Disk { source, .. }) = host.open() else { panic!("it is another file") };
    let word = word_in(&source.hint().expect("a hint"));
    let found = identity(&host.backing());
    assert!(word.starts_with(&format!("{found}@")), "{word}");
    // The identity alone accepts nothing: otherwise it would accept every later change, too.
    open_accepting(&host, &found).expect_err("no state is named");
    assert_eq!(open_accepting(&host, &word).expect("its owner says so").pages, 0);
    drop(open(&host.cache(), &[host.opening()]).expect("it is known from then on"));
}

/// Regression: a block device that the kernel keeps over a restart was matched by the tier's path
/// and the disk's name. A new tier at that path, with another disk of that name, would have
/// continued under a mounted file system.
#[test]
fn identity_is_kept_over_restarts_and_by_no_other_disk() {
    let host = used(Mode::Through);
    let identity_of = |set: Result<Set, SetError>| set.expect("it opens").identities.remove(0);
    let first = identity_of(host.open());
    assert_eq!((first.0.as_str(), &identity_of(host.open())), ("vm1", &first));

    let other = Host::new(Mode::Through);
    assert_ne!(identity_of(open(&other.cache(), &[host.opening()])), first, "another set");
    let back = identity_of(host.open());
    assert_ne!(back, first, "it was served elsewhere");

    let new = host.directory.path().join("new.raw");
    std::fs::copy(host.backing(), &new).expect("room");
    std::fs::rename(&new, host.backing()).expect("the same name");
    let Err(SetError::Disk { source, .. }) = host.open() else { panic!("it is another file") };
    let accepted = open_accepting(&host, &word_in(&source.hint().expect("a hint")));
    assert_ne!(identity_of(accepted), back, "another backing store");
}

fn word_in(words: &str) -> String {
    words.split("--accept-identity ").nth(1).expect("a hint").to_owned()
}

fn open_accepting(host: &Host, word: &str) -> Result<Set, SetError> {
    let (caching, accepted) = (Caching::default(), [word.to_owned()]);
    Set::open(&host.cache(), caching, &accepted, &[host.opening()])
}

/// Regression: an option left in a unit file accepted every later file with that identity, however
/// old.
#[test]
fn accepted_identity_counts_once() {
    let host = used(Mode::Through);
    let (first, second) = (host.backing(), host.directory.path().join("second.raw"));
    std::fs::copy(&first, &second).expect("room");
    let swap = || {
        let aside = host.directory.path().join("aside.raw");
        std::fs::rename(&first, &aside).expect("one of them");
        std::fs::rename(&second, &first).expect("the other");
        std::fs::rename(&aside, &second).expect("kept");
    };
    let refused = |accepted: &str| match open_accepting(&host, accepted) {
        Err(SetError::Disk { source, .. }) => word_in(&source.hint().expect("a hint")),
        other => panic!("{other:?}"),
    };
    swap();
    let there = refused("");
    drop(open_accepting(&host, &there).expect("its owner says so"));
    swap();
    let back = refused(&there);
    drop(open_accepting(&host, &back).expect("its owner says so"));
    swap();
    let again = refused(&there);
    assert_ne!(there, again, "the same identity, another state");
    drop(open_accepting(&host, &again).expect("its owner says so"));
}
