//! Disks of a tier as block devices of this host.

use rustix::process::Signal;

use crate::rig::err;
use crate::tiers::Tiered;

/// A guest tests the rest, by scripts/guest-ublk.
#[test]
fn missing_ublk_and_unknown_disk_are_refused_with_hints() {
    let tiered = Tiered::new();
    let serve = |ublk: &str| {
        let words = ["serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s", "--ublk", ublk];
        let ended = tiered.tier(&words);
        assert_ne!(ended.status.code(), Some(0), "{}", err(&ended));
        err(&ended)
    };
    assert!(serve("vm2=0").contains("no disk is called \"vm2\""));
    assert!(serve("vm1=x").contains("a device is NAME=NUMBER"));
    if std::path::Path::new("/dev/ublk-control").exists() {
        eprintln!("skipped: this host has ublk");
        return;
    }
    let refusal = serve("vm1=0");
    assert!(refusal.contains("cannot offer \"vm1\" as /dev/ublkb0"), "{refusal}");
    assert!(refusal.contains("this kernel has no /dev/ublk-control"), "{refusal}");
    assert!(refusal.contains("hint: run `modprobe ublk_drv`"), "{refusal}");
    assert!(!tiered.place.path("s").exists(), "its socket is removed");
    let served = tiered.serve_with("back", &[]);
    served.signal(Signal::TERM);
    assert_eq!(served.end().code, Some(0), "the tier is as good as before");
}
