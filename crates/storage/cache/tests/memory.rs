//! A tier's memory is bounded by the pages it has touched, as a counting allocator sees it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use state_machine::Operation;
use tilemark_cache::PolicyKind;
use tilemark_cache::Tier;
use tilemark_cache::tier::{Access, Admission, Config, VmId, VmSettings, WriteMode};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const GIB: u64 = 1 << 30;
const PAGE: u32 = 64 << 10;

/// The tier of the FAST Cache study: 366 GiB, pages of 64 KiB, in on the third access.
fn tier(policy: PolicyKind, accesses: u8) -> Tier {
    let admission = match accesses {
        1 => Admission::Always,
        accesses => Admission::NthAccess { accesses, fill_percent: 0 },
    };
    let vms = VmSettings { write_mode: WriteMode::Back, ..VmSettings::default() };
    let config = Config { policy, admission, vms, ..Config::new(366 * GIB, PAGE) };
    Tier::new(config).expect("a valid tier")
}

/// Bytes a tier takes when empty, and for each of so many pages touched once or more.
fn measure(policy: PolicyKind, accesses: u8, times: u8, pages: u64) -> (usize, f64) {
    let before = LIVE.load(Ordering::Relaxed);
    let mut tier = tier(policy, accesses);
    let empty = LIVE.load(Ordering::Relaxed) - before;
    let mut steps = Vec::with_capacity(64);
    let start = LIVE.load(Ordering::Relaxed);
    for page in 0..pages {
        // Scattered, as a file system's pages are.
        let offset = page * 7919 % 20_000_000 * u64::from(PAGE);
        let access = Access { vm: VmId(0), operation: Operation::Write, offset, length: 8192 };
        for _ in 0..times {
            steps.clear();
            tier.access(&access, &mut steps);
        }
    }
    let grown = LIVE.load(Ordering::Relaxed) - start;
    (empty, grown as f64 / pages as f64)
}

/// Measures the memory of tiers in a single test, since the allocator counts for all threads.
#[test]
fn tier_memory_grows_with_touched_pages_not_capacity() {
    for policy in ["lru", "clock", "arc", "2q", "s3fifo", "sieve", "lirs"] {
        let kind: PolicyKind = policy.parse().expect("a policy");
        let (empty, _) = measure(kind, 3, 1, 1);
        assert!(empty < 1 << 20, "an empty tier of {policy} takes {empty} B");
    }
    let mut most = (0.0_f64, 0.0_f64, 0.0_f64);
    for pages in [100_000, 131_072, 131_073, 150_000, 262_145] {
        most.0 = most.0.max(measure(PolicyKind::Lru, 1, 1, pages).1);
        most.1 = most.1.max(measure(PolicyKind::Lru, 3, 1, pages).1);
        most.2 = most.2.max(measure(PolicyKind::Lru, 3, 3, pages).1);
    }
    assert!(most.0 <= 118.0, "{} B for a resident page", most.0);
    assert!(most.1 <= 58.0, "{} B for a page that is counted", most.1);
    assert!(most.2 <= 119.0, "{} B for a page that was let in", most.2);
}
