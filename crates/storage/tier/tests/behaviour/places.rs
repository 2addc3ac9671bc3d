//! Another storage under the same name is refused, and one that cannot be told gets no log.

use tilemark_tier::format::{Identity, SIDECAR_BYTES, Sidecar};
use tilemark_tier::{
    AttachError, Attachment, IoTarget, Media, Mode, Moment, OpenError, Opened, Session, Settings,
    Since, Tier,
};

use super::oracle::stamps;
use super::world::{Devices, Direct, Shape, World, attachment, settings};

const BACK: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 8, copies: 0 };
const THROUGH: Shape = Shape { mode: Mode::Through, ..BACK };

fn identity(name: &str, is_lasting: bool) -> Identity {
    Identity { name: name.to_owned(), is_lasting }
}

/// A set that was killed with a write in its log, or left in order with pages.
fn used(shape: Shape) -> Devices {
    let mut world = World::new(3, shape);
    world.write(0, 64 << 10);
    world.read(0, 64 << 10);
    if shape.mode == Mode::Through {
        world.close();
    }
    world.devices.clone()
}

fn open(
    devices: &mut Devices,
    shape: Shape,
    change: impl Fn(&mut Attachment, &mut Settings),
) -> Result<Opened, OpenError> {
    let since = devices.moments[0].map_or(Since::Unknown, Since::Unchanged);
    let mut asked = Attachment { since, ..attachment(shape.disk_bytes, shape.mode) };
    let session = Session { boot: [9; 16], opening: 99 };
    let mut settings = Settings { session, ..settings() };
    change(&mut asked, &mut settings);
    Tier::open(&mut Direct::new(devices), settings, &[asked])
}

fn refusal(opened: Result<Opened, OpenError>) -> AttachError {
    match opened.expect_err("it is refused") {
        OpenError::Attach { index: 0, error } => error,
        error => panic!("{error}"),
    }
}

#[test]
fn other_backing_store_is_refused_with_both_identities() {
    for shape in [BACK, THROUGH] {
        let other = |asked: &mut Attachment, _: &mut Settings| {
            asked.backing = identity("wwid:other", true);
        };
        let error = refusal(open(&mut used(shape), shape, other));
        let words = error.to_string();
        for part in ["backing store differs", "wwid:other, but was backing"] {
            assert!(words.contains(part), "{words}");
        }
        assert!(error.hint().is_some_and(|hint| hint.contains("--accept-identity wwid:other@")));
    }
}

#[test]
fn other_sidecar_is_refused_with_both_identities() {
    let other = |asked: &mut Attachment, _: &mut Settings| {
        asked.sidecar = identity("file:copy", true);
    };
    let words = refusal(open(&mut used(THROUGH), THROUGH, other)).to_string();
    assert!(words.contains("sidecar differs") && words.contains("file:copy"), "{words}");
}

#[test]
fn vouched_places_are_served_cold_with_their_log() {
    let vouched = |asked: &mut Attachment, settings: &mut Settings| {
        (asked.backing, asked.is_backing_vouched) = (identity("wwid:other", true), true);
        (asked.sidecar, asked.is_sidecar_vouched) = (identity("file:copy", true), true);
        (settings.place, settings.is_place_vouched) = (identity("file:moved", true), true);
    };
    let opened = open(&mut used(BACK), BACK, vouched).expect("its owner says so");
    assert_eq!((opened.pages, opened.writes > 0), (0, true));
    let mut devices = used(THROUGH);
    assert_eq!(open(&mut devices, THROUGH, vouched).expect("its owner says so").pages, 0);
    // From then on these are the places that are known.
    let error = refusal(open(&mut devices, THROUGH, |_, settings| {
        settings.place = identity("file:moved", true);
    }));
    assert!(matches!(error, AttachError::OtherPlace { .. }), "{error}");
}

#[test]
fn place_without_lasting_identity_gets_no_log_and_no_pages() {
    let unknown = |asked: &mut Attachment, _: &mut Settings| {
        asked.backing = identity("boot:2:diskseq:9", false);
    };
    let error = refusal(open(&mut used(BACK), BACK, unknown));
    assert!(matches!(error, AttachError::UnknownPlace { writes: 1.., .. }), "{error}");
    assert!(error.to_string().contains("boot:2:diskseq:9"), "{error}");
    let opened = open(&mut used(THROUGH), THROUGH, unknown).expect("nothing can be lost");
    assert_eq!(opened.pages, 0);
}

#[test]
fn moved_cache_is_refused_with_both_identities() {
    let moved = |_: &mut Attachment, settings: &mut Settings| {
        settings.place = identity("file:moved", true);
    };
    let mut devices = used(THROUGH);
    let error = open(&mut devices, THROUGH, moved).expect_err("it is another place");
    assert!(matches!(error, OpenError::OtherCache { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("on file:moved, expected on cache"), "{words}");
    assert!(open(&mut devices, THROUGH, |_, _| {}).expect("at its place").pages > 0);
}

#[test]
fn changes_without_the_tier_cost_pages_or_are_refused() {
    let mut devices = used(THROUGH);
    let at = devices.moments[0].expect("it was served");
    for since in [Since::Unknown, Since::Perhaps(at), Since::Changed(at), Since::Older(at)] {
        let opened = open(&mut devices.clone(), THROUGH, |asked, _| asked.since = since);
        assert_eq!(opened.expect("nothing waits").pages, 0, "{since:?}");
    }
    assert!(open(&mut devices, THROUGH, |_, _| {}).expect("unchanged").pages > 0);
    let devices = used(BACK);
    let at = devices.moments[0].expect("it was served");
    for since in [Since::Changed(at), Since::Older(at)] {
        let error = refusal(open(&mut devices.clone(), BACK, |asked, _| asked.since = since));
        assert!(error.to_string().contains("writes"), "{error}");
    }
    let error = refusal(open(&mut devices.clone(), BACK, |asked, _| {
        (asked.since, asked.is_backing_vouched) = (Since::Older(at), true);
    }));
    assert!(matches!(error, AttachError::BackingOlder { .. }), "{error}");
    // It was served again after those marks, and killed before it stored others.
    let before = Since::Changed(Moment { opening: at.opening + 50, ..at });
    for since in [Since::Unknown, Since::Perhaps(at), before] {
        let opened = open(&mut devices.clone(), BACK, |asked, _| asked.since = since);
        assert!(opened.expect("after a kill").writes > 0, "{since:?}");
    }
}

#[test]
fn sidecar_of_version_1_starts_cold_and_gets_no_log_unvouched() {
    let as_before = |devices: &mut Devices| {
        let mut media = Direct::new(devices);
        let mut bytes = vec![0; SIDECAR_BYTES];
        media.read(IoTarget::Sidecar(0), 0, &mut bytes).expect("no fault");
        let known = Sidecar::newest(&bytes).expect("a copy");
        let unknown = Identity::default();
        let old = Sidecar {
            backing: unknown.clone(),
            place: unknown,
            opening: 0,
            superblock: 0,
            log_durable: 0,
            log_retired: 0,
            ..known
        };
        for seq in [old.seq, old.seq + 1] {
            let copy = Sidecar { seq, ..old.clone() };
            media.write(IoTarget::Sidecar(0), copy.place(), &copy.encode()[..]).expect("no fault");
        }
    };
    let mut devices = used(BACK);
    as_before(&mut devices);
    let error = refusal(open(&mut devices, BACK, |_, _| {}));
    assert!(error.to_string().contains("by an earlier program"), "{error}");
    let vouched = |asked: &mut Attachment, _: &mut Settings| {
        (asked.is_backing_vouched, asked.is_sidecar_vouched) = (true, true);
    };
    let opened = open(&mut devices, BACK, vouched).expect("its owner says so");
    let mut world =
        World::of(3, BACK, devices, opened.tier, super::oracle::Oracle::new(1024, Mode::Back));
    world.oracle.is_loose = true;
    assert!(stamps(&world.read_all())[..128].iter().all(|stamp| *stamp > 0), "its log counts");
    let mut devices = used(THROUGH);
    as_before(&mut devices);
    assert_eq!(open(&mut devices, THROUGH, |_, _| {}).expect("nothing waits").pages, 0);
}
