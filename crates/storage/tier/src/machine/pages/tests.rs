use cache::PageId;

use super::*;
use crate::geometry::Plan;

/// This many slots of 16 KiB, without the slots of a log.
fn pages(policy: PolicyKind) -> PageIndex {
    let plan = Plan {
        device_bytes: 6 << 20,
        page_bytes: 16 << 10,
        chunk_bytes: 64 << 10,
        log_percent: 30,
    };
    PageIndex::new(&Geometry::new(plan).expect("it fits"), policy, Admission::Always)
}

fn read(pages: &mut PageIndex, disk: u16, page: u64) -> bool {
    let key = PageKey { disk, page };
    let was_in = pages.find(key).is_some();
    pages.reference(key, true);
    was_in
}

/// Slot of each of these pages.
fn places(pages: &PageIndex, disk: u16, numbers: u64) -> Vec<Option<u32>> {
    (0..numbers).map(|page| pages.find(PageKey { disk, page })).collect()
}

/// Evicts all surplus pages.
fn divided(pages: &mut PageIndex) {
    while pages.is_dividing() {
        pages.give_up_surplus(3);
    }
}

#[test]
fn a_disk_with_a_share_pollutes_itself_and_not_its_neighbour() {
    let mut pages = pages(PolicyKind::Lru);
    let all = pages.common.capacity();
    pages.set_share(1, 25);
    let own = u64::try_from(all / 2).expect("few");
    (0..own).for_each(|page| assert!(!read(&mut pages, 0, page)));
    (0..10 * own).for_each(|page| {
        read(&mut pages, 1, page);
    });
    assert_eq!(pages.pages_of(1), (all * 25).div_ceil(100));
    assert!((0..own).all(|page| read(&mut pages, 0, page)), "the neighbour's are all there");
    assert!(read(&mut pages, 1, 10 * own - 1), "its newest are");
    assert!(!read(&mut pages, 1, 0), "its oldest are not");
}

#[test]
fn shrinking_share_evicts_gradually_and_zero_admits_nothing() {
    let mut pages = pages(PolicyKind::Lru);
    let all = u64::try_from(pages.common.capacity()).expect("few");
    (0..all).for_each(|page| {
        read(&mut pages, 3, page);
    });
    assert_eq!(pages.resident(), pages.common.capacity());
    pages.set_share(3, 10);
    (all..4 * all).for_each(|page| {
        read(&mut pages, 3, page);
    });
    assert_eq!(pages.pages_of(3), (pages.common.capacity() * 10).div_ceil(100));
    pages.set_share(3, 0);
    let before = pages.pages_of(3);
    assert!(!read(&mut pages, 3, 9 * all) && !read(&mut pages, 3, 9 * all));
    assert_eq!(pages.pages_of(3), before, "what is in is served");
}

#[test]
fn pages_of_one_disk_may_come_in_later_than_those_of_others() {
    let mut pages = pages(PolicyKind::Lru);
    pages.set_admission(1, Admission::NthAccess { accesses: 3, fill_percent: 0 });
    let seen: Vec<bool> = (0..4).map(|_| read(&mut pages, 1, 7)).collect();
    assert_eq!(seen, [false, false, false, true]);
    assert_eq!([read(&mut pages, 0, 7), read(&mut pages, 0, 7)], [false, true]);
}

#[test]
fn another_policy_goes_on_with_the_pages_that_are_in() {
    for kind in PolicyKind::ALL {
        let mut pages = pages(PolicyKind::Lru);
        let all = u64::try_from(pages.common.capacity()).expect("few");
        (0..2 * all).for_each(|page| {
            read(&mut pages, 0, page);
        });
        let before = places(&pages, 0, 2 * all);
        pages.set_policy(kind);
        assert_eq!(before, places(&pages, 0, 2 * all), "{kind}: every page is where it was");
        (0..3 * all).for_each(|page| {
            read(&mut pages, 1, page);
        });
        let found =
            (0..4 * all).filter(|page| pages.find(PageKey { disk: 1, page: *page }).is_some());
        assert!(found.count() > 0, "{kind}: it goes on");
    }
}

/// Regression: pages that were evicted before their admission was durable were not counted, because
/// only durable evictions were counted. A disk that reads everything once has many such pages.
#[test]
fn pages_that_leave_soon_after_they_came_have_left_too() {
    let mut pages = pages(PolicyKind::Lru);
    let room = u64::try_from(pages.common.capacity()).expect("few");
    for page in 0..3 * room {
        let (_, to_forget) = pages.reference(PageKey { disk: 2, page }, true);
        assert_eq!(to_forget, None, "nothing was written down of it");
    }
    assert_eq!(
        (pages.evicted_of(2), pages.evicted_of(1), pages.evicted()),
        (2 * room, 0, 2 * room)
    );
}

/// Beside it a neighbour reads everything there is, and the common part is of another policy.
#[test]
fn own_policy_hits_as_that_policy_alone_with_the_share() {
    for kind in PolicyKind::ALL {
        let mut pages = pages(PolicyKind::Sieve);
        let part = pages.capacity * 40 / 100;
        pages.set_share(1, 40);
        pages.set_own_policy(1, Some(kind));
        let mut alone = kind.build(part);
        let (mut hits, mut state) = (0, 1_u64);
        for turn in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // More often near zero, and a scan now and then.
            let near = (state >> 40) % 300 * ((state >> 20) % 300) / 300;
            let page = if turn % 500 > 450 { turn } else { near };
            let was_in = read(&mut pages, 1, page);
            let id = PageId(1 << 48 | page);
            assert_eq!(was_in, alone.reference(id).is_hit(), "{kind}, turn {turn}");
            hits += u64::from(was_in);
            read(&mut pages, 0, turn);
        }
        assert!((2_000..18_000).contains(&hits), "{kind}: {hits} hits");
        assert_eq!(pages.resident(), pages.capacity, "{kind}: the neighbour has what is left");
    }
}

#[test]
fn surplus_pages_leave_in_steps_and_recently_used_ones_stay() {
    let mut pages = pages(PolicyKind::Lru);
    let all = u64::try_from(pages.capacity).expect("few");
    (0..all).for_each(|page| {
        read(&mut pages, 0, page);
    });
    assert!(read(&mut pages, 0, 0), "the oldest is used again");
    pages.set_share(1, 50);
    pages.set_own_policy(1, Some(PolicyKind::S3Fifo));
    assert!(pages.is_dividing());
    assert!(read(&mut pages, 0, all - 1), "what is in is served");
    assert!(!read(&mut pages, 1, 0) && !read(&mut pages, 1, 0), "nothing comes in meanwhile");
    pages.give_up_surplus(3);
    assert_eq!(pages.resident(), pages.capacity - 3);
    divided(&mut pages);
    let own = u64::try_from(pages.capacity * 50 / 100).expect("few");
    let left = |pages: &PageIndex| {
        (0..all)
            .filter(|page| pages.find(PageKey { disk: 0, page: *page }).is_some())
            .collect::<Vec<_>>()
    };
    let expected: Vec<u64> = std::iter::once(0).chain(own + 1..all).collect();
    assert_eq!(left(&pages), expected);
    (0..2 * all).for_each(|page| {
        read(&mut pages, 1, page);
    });
    assert_eq!(pages.pages_of(1) as u64, own);
    assert_eq!(left(&pages), expected, "the neighbour keeps what it has");
    assert_eq!(pages.evicted_of(0), own);
}

#[test]
fn division_changes_policy_or_ends_with_its_pages_in_place() {
    for kind in PolicyKind::ALL {
        let mut pages = pages(PolicyKind::Lru);
        pages.set_share(1, 30);
        pages.set_own_policy(1, Some(PolicyKind::Arc));
        let all = u64::try_from(pages.capacity).expect("few");
        for page in 0..all {
            read(&mut pages, 0, page);
            read(&mut pages, 1, page);
        }
        let before = [places(&pages, 0, all), places(&pages, 1, all)];
        for policy in [Some(kind), None, Some(kind)] {
            pages.set_own_policy(1, policy);
            assert!(!pages.is_dividing(), "{kind}: all of them fit");
            assert_eq!(before, [places(&pages, 0, all), places(&pages, 1, all)], "{kind}");
        }
        // Less, and more than before.
        for share in [10, 60] {
            pages.set_share(1, share);
            divided(&mut pages);
            (0..2 * all).for_each(|page| {
                read(&mut pages, 1, page);
            });
            assert_eq!(pages.pages_of(1), pages.capacity * usize::from(share) / 100, "{kind}");
        }
        assert!(pages.resident() <= pages.capacity);
    }
}

#[test]
fn a_disk_that_is_gone_leaves_its_part_to_the_others() {
    let mut pages = pages(PolicyKind::Lru);
    pages.set_share(1, 90);
    pages.set_own_policy(1, Some(PolicyKind::Lirs));
    assert_eq!((pages.parted_percent(0), pages.parted_percent(1)), (90, 0));
    let all = u64::try_from(pages.capacity).expect("few");
    (0..all).for_each(|page| {
        read(&mut pages, 1, page);
    });
    while pages.give_up(1, 5).is_some() {}
    pages.disown(1);
    assert_eq!(pages.policies(1), (PolicyKind::Lru, None));
    (0..all).for_each(|page| {
        read(&mut pages, 0, page);
    });
    assert_eq!((pages.pages_of(0), pages.parted_percent(0)), (pages.capacity, 0));
}

#[test]
fn newest_order_during_a_division_wins() {
    let mut pages = pages(PolicyKind::Lru);
    let all = u64::try_from(pages.capacity).expect("few");
    (0..all).for_each(|page| {
        read(&mut pages, u16::try_from(page % 2).expect("few"), page);
    });
    pages.set_share(0, 20);
    pages.set_own_policy(0, Some(PolicyKind::Sieve));
    pages.give_up_surplus(1);
    pages.set_own_policy(0, None);
    assert!(!pages.is_dividing(), "the part was not made yet");
    pages.set_share(1, 20);
    pages.set_own_policy(1, Some(PolicyKind::Clock));
    divided(&mut pages);
    let part = pages.capacity * 20 / 100;
    assert_eq!((pages.pages_of(0), pages.pages_of(1)), (pages.capacity.div_ceil(2) - 1, part));
}

/// Brings a page in: its slot.
fn enter(pages: &mut PageIndex, disk: u16, page: u64) -> u32 {
    let (slot, _) = pages.reference(PageKey { disk, page }, true);
    slot.expect("there is room")
}

/// Fills the first block of a page that is in.
fn fill_first(pages: &mut PageIndex, slot: u32, page: u64, unbacked: Option<u64>) {
    let mut open = Vec::new();
    pages.open_fill(0, page * 4, &mut open);
    assert_eq!(pages.fill((0, page * 4), 7, &open, unbacked), Some((slot, 0)));
    let good = pages.end_fill(slot, 1, 0);
    pages.serve(slot, good);
    pages.close_fills(&open);
}

#[test]
fn filled_block_is_served_unless_a_newer_write_came() {
    let mut pages = pages(PolicyKind::Lru);
    let slot = enter(&mut pages, 0, 0);
    let (mut open, mut other) = (Vec::new(), Vec::new());
    pages.open_fill(0, 0, &mut open);
    pages.open_fill(0, 1, &mut open);
    pages.open_fill(0, 2, &mut other);
    assert_eq!((&open[..], &other[..]), (&[slot][..], &[][..]), "one filler at a time");
    for (block, sum) in [(0, 7), (1, 8)] {
        assert!(pages.fill((0, block), sum, &open, None).is_some());
    }
    assert_eq!(pages.served(0, 0), None, "it is on its way");
    pages.overtake_fill(0, 1);
    let good = pages.end_fill(slot, 0b11, 0);
    assert_eq!(pages.serve(slot, good), Some(0));
    assert_eq!(pages.served(0, 0), Some(CachedBlock { slot, bit: 0, sum: 7 }));
    assert_eq!(pages.served(0, 1), None, "what came is older than a write");
}

#[test]
fn block_named_by_a_durable_map_is_unmapped_before_it_changes() {
    let mut pages = pages(PolicyKind::Lru);
    let slot = enter(&mut pages, 0, 0);
    fill_first(&mut pages, slot, 0, None);
    assert_eq!(pages.invalidate(0, 0), None, "no map names it");
    fill_first(&mut pages, slot, 0, None);
    pages.map_written(slot, 1, 5);
    assert_eq!((pages.invalidate(0, 0), pages.served(0, 0)), (Some(slot), None));
    assert_eq!(pages.mappable(slot, 0), Some(0), "a map is to say that it is gone");
    pages.map_written(slot, 0, 6);
    pages.map_durable(slot, 5, 1);
    assert_eq!(pages.invalidate(0, 0), Some(slot), "the older map is durable, not that one");
    pages.map_durable(slot, 6, 0);
    assert_eq!((pages.invalidate(0, 0), pages.mappable(slot, 0)), (None, None));
}

#[test]
fn block_that_backing_may_lose_is_served_but_not_mapped() {
    let mut pages = pages(PolicyKind::Lru);
    let slot = enter(&mut pages, 0, 0);
    fill_first(&mut pages, slot, 0, Some(3));
    assert!(pages.served(0, 0).is_some());
    assert_eq!((pages.mappable(slot, 2), pages.mappable(slot, 3)), (None, Some(1)));
    // A map of the block's earlier content must not be used for its present content.
    pages.map_begun(slot, 1);
    pages.invalidate(0, 0);
    fill_first(&mut pages, slot, 0, Some(4));
    assert_eq!(pages.served(0, 0), None);
}

#[test]
fn slot_is_used_again_when_it_is_durable_that_its_page_left() {
    let mut pages = pages(PolicyKind::Lru);
    let slot = enter(&mut pages, 0, 0);
    fill_first(&mut pages, slot, 0, None);
    pages.map_begun(slot, 1);
    let (key, free) = (PageKey { disk: 0, page: 0 }, pages.free_count);
    assert_eq!(pages.give_up(0, 1), Some(vec![(slot, key)]));
    assert!(pages.is_leaving(key) && pages.free_count == free);
    pages.left(key, slot);
    assert!(!pages.is_leaving(key) && pages.free_count == free + 1);
}
