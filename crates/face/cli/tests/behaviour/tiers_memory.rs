//! Memory of a served tier as a whole program: its answers, its status, and refusals.

use rustix::process::Signal;
use serde_json::Value;

use crate::rig::{err, out};
use crate::tiers::Tiered;

fn status(tiered: &Tiered) -> Value {
    let said = tiered.tier(&["status", "s", "--format", "json"]);
    serde_json::from_str(&out(&said)).expect("it is JSON")
}

/// Content of which half compresses.
fn half(block: u64) -> Vec<u8> {
    let mut state = block * 2 + 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[5]
    };
    (0..4096).map(|at| if at < 2048 { byte() } else { 0 }).collect()
}

#[test]
fn repeated_reads_hit_memory_and_compression_is_reported() {
    let tiered = Tiered::new();
    let server = tiered.serve_with("back", &["--memory", "4MiB"]);
    let mut client = tiered.client();
    for block in 0..64 {
        client.write(block * 4096, &half(block)).expect("bytes are taken");
    }
    let drained = tiered.tier(&["drain", "s", "vm1"]);
    assert_eq!(drained.status.code(), Some(0), "{}", err(&drained));
    for _ in 0..3 {
        for block in 0..64 {
            assert_eq!(client.read(block * 4096, 4096).expect("bytes come"), half(block));
        }
    }
    let said = status(&tiered);
    let of = |key: &str| said["memory"][key].as_u64().expect("a number");
    assert_eq!((of("bytes"), of("held_bytes")), (4 << 20, 64 * 4096), "{said}");
    let taken = of("taken_bytes");
    assert!(
        (64 * 2048..=64 * 2560).contains(&taken),
        "half, and what a cell has room for: {taken}"
    );
    assert!(of("bookkeeping_bytes") > 0, "{said}");
    assert_eq!((said["hits"].as_u64(), said["memory_hits"].as_u64()), (Some(192), Some(128)));
    assert_eq!(said["memory_hit_bytes"].as_u64(), Some(128 * 4096));
    let text = out(&tiered.tier(&["status", "s"]));
    assert!(text.contains("memory: 256 KiB held in 1"), "{text}");
    assert!(text.contains("66.7 % of reads served from memory alone"), "{text}");
    // Memory is lost with the server.
    server.signal(Signal::KILL);
    assert_eq!(server.end().code, None, "a signal ended it");
    let server = tiered.serve_with("back", &["--memory", "4MiB"]);
    let mut client = tiered.client();
    assert_eq!(status(&tiered)["memory"]["held_bytes"].as_u64(), Some(0));
    assert_eq!(client.read(4096, 4096).expect("bytes come"), half(1));
    assert_eq!(status(&tiered)["memory_hits"].as_u64(), Some(0));
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0), "it ends in order");
}

#[test]
fn a_tier_without_memory_says_nothing_of_it() {
    let tiered = Tiered::new();
    let server = tiered.serve_with("through", &["--memory", "0"]);
    assert!(status(&tiered).get("memory").is_none());
    assert!(!out(&tiered.tier(&["status", "s"])).contains("memory"));
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0), "it ends in order");
}

#[test]
fn memory_that_is_not_there_or_of_no_use_is_refused_in_one_line() {
    let tiered = Tiered::new();
    for (size, code, words) in [
        ("900TiB", 3, "more than the"),
        ("4KiB", 3, "0 for no memory"),
        ("much", 2, "--memory"),
        ("-1", 2, "--memory"),
        ("12", 2, "--memory"),
    ] {
        let size = format!("--memory={size}");
        let serve = ["serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s", size.as_str()];
        let refused = tiered.tier(&serve);
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(code), "{size}: {said}");
        assert!(said.contains(words), "{size}: {said}");
        assert!(!tiered.place.path("s").exists(), "nothing is served");
        if code == 3 {
            assert_eq!(said.lines().count(), 1, "{size}: {said}");
        }
    }
}
