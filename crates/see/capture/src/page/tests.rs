use proptest::prelude::*;

use super::*;

const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
     \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
     \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
     \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

fn layout() -> PageLayout {
    PageLayout::parse(HEADER).expect("the usual layout")
}

/// Builds pages entry by entry, as the kernel does.
struct Builder {
    time: u64,
    data: Vec<u8>,
}

impl Builder {
    fn new(time: u64) -> Self {
        Self { time, data: Vec::new() }
    }

    fn word(mut self, word: u32) -> Self {
        self.data.extend(word.to_ne_bytes());
        self
    }

    fn head(self, kind: u32, delta: u32) -> Self {
        self.word(if cfg!(target_endian = "little") {
            kind | delta << 5
        } else {
            kind << 27 | delta
        })
    }

    fn entry(self, delta: u32, data: &[u8]) -> Self {
        assert!(data.len().is_multiple_of(4) && data.len() <= 28 * 4);
        let words = u32::try_from(data.len() / 4).expect("small");
        let mut built = self.head(words, delta);
        built.data.extend(data);
        built
    }

    fn long(self, delta: u32, data: &[u8]) -> Self {
        let length = u32::try_from(data.len() + 4).expect("small");
        let mut built = self.head(0, delta).word(length);
        built.data.extend(data);
        built
    }

    fn page(self, flags: u64, missed: Option<u64>) -> Vec<u8> {
        let mut page = self.time.to_ne_bytes().to_vec();
        page.extend((self.data.len() as u64 | flags).to_ne_bytes());
        page.extend(&self.data);
        page.extend(missed.unwrap_or(0).to_ne_bytes());
        page.resize(4096, 0);
        page
    }
}

type Entries = Vec<(u64, Vec<u8>)>;

fn entries(page: &[u8]) -> (Entries, Result<Option<Missed>, Broken>) {
    let mut found = Vec::new();
    let missed = read(&layout(), page, |time, data| found.push((time, data.to_vec())));
    (found, missed)
}

#[test]
fn times_add_up_over_short_and_long_entries() {
    let long = [7_u8; 200];
    let page = Builder::new(1000).entry(0, b"abcd").entry(5, b"efghijkl").long(10, &long);
    let (found, missed) = entries(&page.page(0, None));
    assert_eq!(missed, Ok(None));
    assert_eq!(
        found,
        [(1000, b"abcd".to_vec()), (1005, b"efghijkl".to_vec()), (1015, long.to_vec())]
    );
}

#[test]
fn time_extension_adds_and_time_stamp_replaces() {
    let page = Builder::new(100).head(TIME_EXTEND, 3).word(2).entry(1, b"aaaa");
    let page = page.head(TIME_STAMP, 9).word(4).entry(2, b"bbbb");
    let (found, _) = entries(&page.page(0, None));
    assert_eq!(found[0].0, 100 + 3 + (2 << 27) + 1);
    assert_eq!(found[1].0, (4 << 27) + 9 + 2);
}

#[test]
fn discarded_entries_are_skipped_and_an_empty_one_ends_the_page() {
    let page = Builder::new(0).head(PADDING, 2).word(8).word(0).entry(1, b"aaaa");
    let page = page.head(PADDING, 0).entry(1, b"gone");
    let (found, missed) = entries(&page.page(0, None));
    assert_eq!((found, missed), (vec![(3, b"aaaa".to_vec())], Ok(None)));
}

#[test]
fn lost_events_are_told_with_their_number_where_it_is_stored() {
    let page = Builder::new(50).entry(1, b"aaaa");
    let (found, missed) = entries(&page.page(MISSED | MISSED_STORED, Some(12)));
    assert_eq!(missed, Ok(Some(Missed { count: Some(12), before: 50 })));
    assert_eq!(found.len(), 1);
    let (_, missed) = entries(&Builder::new(50).entry(1, b"aaaa").page(MISSED, Some(12)));
    assert_eq!(missed, Ok(Some(Missed { count: None, before: 50 })));
}

#[test]
fn a_page_that_lies_about_its_length_is_broken_and_not_followed() {
    let page = Builder::new(0).entry(1, b"aaaa").head(0, 1).word(1 << 20);
    let (found, missed) = entries(&page.page(0, None));
    assert_eq!((found.len(), missed), (1, Err(Broken)));
    assert_eq!(entries(&[1, 2, 3]).1, Err(Broken));
}

proptest! {
    #[test]
    fn no_page_of_any_bytes_ends_in_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..4200)) {
        let _ = entries(&bytes);
    }

    #[test]
    fn no_entries_of_any_bytes_end_in_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..4080)) {
        let mut builder = Builder::new(1);
        builder.data = bytes;
        let _ = entries(&builder.page(0, None));
    }
}
