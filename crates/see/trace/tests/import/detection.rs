//! Formats are told by content, and named by anyone's name for them.

use std::collections::BTreeSet;

use tilemark_trace::Format;

use crate::help::{read, read_as};
use crate::samples;

#[test]
fn every_format_is_told_by_its_content() {
    let mut seen = BTreeSet::new();
    for (format, sample) in samples::all() {
        let read = read(&sample);
        assert_eq!(read.info.format, format.name());
        assert!(read.records.len() >= 2 || !read.records.is_empty(), "{format}");
        assert!(!read.info.vms.is_empty() && !read.info.devices.is_empty(), "{format}");
        seen.insert(format.name());
    }
    let all: BTreeSet<&str> = Format::all().map(Format::name).collect();
    assert_eq!(seen, all, "a sample for each");
}

#[test]
fn a_torn_first_line_does_not_hide_the_format() {
    let text = format!("816,hm,0,Wri\n{}", "128166372003061629,hm,0,Write,0,4096,26\n".repeat(9));
    let read = read_as(text.as_bytes(), None, 1).expect("one is allowed");
    assert_eq!((read.info.format, read.records.len()), ("msr", 9));
}

#[test]
fn names_and_aliases_lead_to_one_format_each() {
    let mut names = BTreeSet::new();
    for format in Format::all() {
        assert_eq!(format.name().parse(), Ok(format));
        for name in format.aliases().iter().chain([&format.name()]) {
            assert_eq!(name.to_uppercase().replace('-', "_").parse(), Ok(format));
            assert!(names.insert(*name), "{name} twice");
        }
        assert!(!format.help().is_empty() && format.help().len() <= 90, "{format}");
    }
    let error = "vsci".parse::<Format>().expect_err("no such format");
    assert!(error.starts_with("trace format \"vsci\" is not one of vscsi, "), "{error}");
}
