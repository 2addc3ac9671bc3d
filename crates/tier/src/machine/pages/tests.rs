use super::*;
use crate::geometry::Plan;

/// So many slots of 16 KiB, without what a log takes.
fn pages(policy: PolicyKind) -> Pages {
    let plan = Plan {
        device_bytes: 6 << 20,
        page_bytes: 16 << 10,
        chunk_bytes: 64 << 10,
        log_percent: 30,
    };
    Pages::new(&Geometry::new(plan).expect("it fits"), policy, Admission::Always)
}

fn read(pages: &mut Pages, disk: u16, page: u64) -> bool {
    let key = PageKey { disk, page };
    let was_in = pages.find(key).is_some();
    pages.reference(key, true);
    was_in
}

#[test]
fn a_disk_with_a_share_pollutes_itself_and_not_its_neighbour() {
    let mut pages = pages(PolicyKind::Lru);
    let all = pages.policy.capacity();
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
fn a_share_that_becomes_less_is_given_up_as_the_disk_goes_on_and_nothing_comes_in_at_none() {
    let mut pages = pages(PolicyKind::Lru);
    let all = u64::try_from(pages.policy.capacity()).expect("few");
    (0..all).for_each(|page| {
        read(&mut pages, 3, page);
    });
    assert_eq!(pages.resident(), pages.policy.capacity());
    pages.set_share(3, 10);
    (all..4 * all).for_each(|page| {
        read(&mut pages, 3, page);
    });
    assert_eq!(pages.pages_of(3), (pages.policy.capacity() * 10).div_ceil(100));
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
        let all = u64::try_from(pages.policy.capacity()).expect("few");
        (0..2 * all).for_each(|page| {
            read(&mut pages, 0, page);
        });
        let before: Vec<Option<u32>> =
            (0..2 * all).map(|page| pages.find(PageKey { disk: 0, page })).collect();
        pages.set_policy(kind);
        let after: Vec<Option<u32>> =
            (0..2 * all).map(|page| pages.find(PageKey { disk: 0, page })).collect();
        assert_eq!(before, after, "{kind}: every page is where it was");
        (0..3 * all).for_each(|page| {
            read(&mut pages, 1, page);
        });
        let found =
            (0..4 * all).filter(|page| pages.find(PageKey { disk: 1, page: *page }).is_some());
        assert!(found.count() > 0, "{kind}: it goes on");
    }
}

/// What left before it was written down that it had come was not counted: it is not to be forgotten durably,
/// and only that was counted. A disk that reads everything once has many such pages.
#[test]
fn pages_that_leave_soon_after_they_came_have_left_too() {
    let mut pages = pages(PolicyKind::Lru);
    let room = u64::try_from(pages.policy.capacity()).expect("few");
    for page in 0..3 * room {
        let (_, to_forget) = pages.reference(PageKey { disk: 2, page }, true);
        assert_eq!(to_forget, None, "nothing was written down of it");
    }
    assert_eq!(
        (pages.evicted_of(2), pages.evicted_of(1), pages.evicted()),
        (2 * room, 0, 2 * room)
    );
}
