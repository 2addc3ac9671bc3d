//! Each fault through a real mount: it is visible, and it is in the truth.

use std::fs;
use std::time::Instant;

use tilemark_lab::truth::{self, Event, Line};
use tilemark_lab::{Kind, Mounted, Options};
use units::Nanos;

use crate::rig::{direct, mount, options, read, write};

/// Lab with these faults that writes the truth to a file.
fn with(faults: &str) -> Option<(Mounted, tempfile::TempDir)> {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { truth: Some(dir.path().join("truth")), ..options(faults) };
    mount(&options).map(|mounted| (mounted, dir))
}

/// Truth, checked to have only faults of this kind.
fn lines(dir: &tempfile::TempDir, kind: Kind) -> Vec<Line> {
    let lines = truth::read(&dir.path().join("truth")).expect("the truth");
    assert!(lines.iter().all(|line| line.fault == kind && line.rule == 1), "{lines:?}");
    lines
}

fn of(lines: &[Line], event: Event) -> Vec<(u64, u64)> {
    let lines = lines.iter().filter(|line| line.event == event);
    lines
        .map(|line| {
            (line.bad_offset.unwrap_or(line.offset), line.bad_length.unwrap_or(line.length))
        })
        .collect()
}

/// Writes ones, then twos with the fault; returns the bytes then read at an offset.
fn second_write(lab: &Mounted, at: u64) -> Vec<u8> {
    let file = direct(&lab.point().join("a.disk"));
    assert_eq!(write(&file, 0, 1, 65536).expect("writes"), 65536);
    assert_eq!(write(&file, at, 2, 4096).expect("answered as if written"), 4096);
    read(&file, at, 4096).expect("reads")
}

#[test]
fn a_lost_write_is_answered_and_not_there() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"lost\"\nafter = 1") else { return };
    assert!(second_write(&lab, 8192) == [1; 4096]);
    let lines = lines(&dir, Kind::Lost);
    assert_eq!(of(&lines, Event::Injected), [(8192, 4096)]);
    assert_eq!(of(&lines, Event::Returned), [(8192, 4096)]);
    assert_eq!((lab.report().faults, lab.report().wrong_reads), (1, 1));
    assert_eq!(lines[0].path, "a.disk");
}

#[test]
fn a_torn_write_is_there_in_part() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"torn\"\nafter = 1") else { return };
    let bytes = second_write(&lab, 8192);
    let kept = bytes.iter().take_while(|byte| **byte == 2).count();
    assert!(kept > 0 && kept < 4096 && kept.is_multiple_of(512), "{kept}");
    let wrong = (8192 + kept as u64, 4096 - kept as u64);
    assert_eq!(of(&lines(&dir, Kind::Torn), Event::Returned), [wrong]);
}

#[test]
fn a_misdirected_write_is_somewhere_else() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"misdirected\"") else { return };
    assert!(second_write(&lab, 8192) == [1; 4096]);
    let all = read(&direct(&lab.point().join("a.disk")), 0, 65536).expect("reads");
    let there = all.iter().position(|byte| *byte == 2).expect("it is somewhere");
    assert_eq!(all.iter().filter(|byte| **byte == 2).count(), 4096);
    let lines = lines(&dir, Kind::Misdirected);
    assert_eq!(lines[0].detail, Some(format!("written at {there}")));
    let mut wrong = of(&lines[2..], Event::Returned);
    wrong.sort_unstable();
    let mut expected = [(8192, 4096), (there as u64, 4096)];
    expected.sort_unstable();
    let touch = there == 4096 || there == 12288;
    assert!(touch || wrong == expected, "{wrong:?}, not {expected:?}");
}

#[test]
fn a_stale_read_gives_the_old_bytes_once() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"stale\"\nafter = 1") else { return };
    assert!(second_write(&lab, 8192) == [1; 4096]);
    let file = direct(&lab.point().join("a.disk"));
    assert!(read(&file, 8192, 4096).expect("reads") == [2; 4096]);
    assert_eq!(of(&lines(&dir, Kind::Stale), Event::Returned), [(8192, 4096)]);
}

#[test]
fn a_bit_flips_in_an_answer_or_for_good() {
    for (op, stays) in [("read", false), ("write", true)] {
        let faults = format!(
            "[[fault]]\nkind = \"bit-flip\"\non = [\"{op}\"]\ntimes = 1\nafter = {}",
            usize::from(stays)
        );
        let Some((lab, dir)) = with(&faults) else { return };
        let differing =
            |bytes: &[u8]| bytes.iter().map(|byte| (byte ^ 2).count_ones()).sum::<u32>();
        assert_eq!(differing(&second_write(&lab, 8192)), 1, "{op}");
        let again = read(&direct(&lab.point().join("a.disk")), 8192, 4096).expect("reads");
        assert_eq!(differing(&again), u32::from(stays), "{op}");
        assert_eq!(of(&lines(&dir, Kind::BitFlip), Event::Injected), [(8192, 4096)], "{op}");
    }
}

#[test]
fn errors_and_short_answers_are_told_and_change_nothing_else() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"eio\"\nafter = 1\ntimes = 3") else { return };
    let file = direct(&lab.point().join("a.disk"));
    write(&file, 0, 1, 4096).expect("writes");
    let number = |error: std::io::Error| error.raw_os_error();
    assert_eq!(write(&file, 0, 2, 4096).map_err(number), Err(Some(5)));
    assert_eq!(read(&file, 0, 4096).map_err(number), Err(Some(5)));
    assert_eq!(file.sync_data().map_err(number), Err(Some(5)));
    assert!(read(&file, 0, 4096).expect("reads") == [1; 4096]);
    assert_eq!(of(&lines(&dir, Kind::Eio), Event::Injected).len(), 3);

    let Some((lab, dir)) = with("[[fault]]\nkind = \"enospc\"\ntimes = 1") else { return };
    let file = direct(&lab.point().join("a.disk"));
    assert_eq!(write(&file, 0, 2, 4096).map_err(number), Err(Some(28)));
    assert_eq!(write(&file, 0, 2, 4096).map_err(number), Ok(4096));
    assert_eq!(of(&lines(&dir, Kind::Enospc), Event::Injected), [(0, 4096)]);

    let Some((lab, dir)) = with("[[fault]]\nkind = \"short\"\nafter = 1\ntimes = 2") else {
        return;
    };
    let file = direct(&lab.point().join("a.disk"));
    write(&file, 0, 1, 4096).expect("writes");
    let written = write(&file, 0, 2, 4096).expect("writes");
    assert!(written > 0 && written < 4096 && written.is_multiple_of(512), "{written}");
    let bytes = read(&file, 0, 4096).expect("reads");
    assert!(!bytes.is_empty() && bytes.len() < 4096, "{}", bytes.len());
    let bytes = read(&file, 0, 4096).expect("reads");
    assert!(bytes[..written].iter().all(|byte| *byte == 2));
    assert!(bytes[written..].iter().all(|byte| *byte == 1));
    assert_eq!(of(&lines(&dir, Kind::Short), Event::Injected).len(), 2);
}

#[test]
fn a_delay_and_a_hang_keep_an_answer_at_least_so_long() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"delay\"\non = [\"read\"]\nby = \"30ms\"")
    else {
        return;
    };
    second_write(&lab, 0);
    let begun = Instant::now();
    read(&direct(&lab.point().join("a.disk")), 0, 4096).expect("reads");
    assert!(begun.elapsed() >= Nanos::from_millis(30).to_duration(), "{:?}", begun.elapsed());
    assert_eq!(of(&lines(&dir, Kind::Delay), Event::Injected).len(), 2);

    let Some((lab, dir)) = with("[[fault]]\nkind = \"hang\"\nfor = \"400ms\"") else { return };
    second_write(&lab, 0);
    assert!(lab.report().elapsed >= Nanos::from_millis(400), "{}", lab.report().elapsed);
    let lines = lines(&dir, Kind::Hang);
    assert!(!lines.is_empty() && lines.iter().all(|line| line.t_ns >= 400_000_000), "{lines:?}");
}

#[test]
fn an_unlinked_open_file_keeps_a_silly_name_until_it_is_closed() {
    let Some((lab, dir)) = with("[[fault]]\nkind = \"silly-rename\"") else { return };
    let path = lab.point().join("a.disk");
    let file = direct(&path);
    write(&file, 0, 1, 4096).expect("writes");
    fs::remove_file(&path).expect("removes");
    let names = || -> Vec<String> {
        let names = fs::read_dir(lab.point()).expect("lists");
        names.map(|name| name.expect("a name").file_name().to_string_lossy().into_owned()).collect()
    };
    assert!(names()[0].starts_with(".fuse_hidden"), "{:?}", names());
    assert!(read(&file, 0, 4096).expect("reads") == [1; 4096]);
    drop(file);
    // The kernel closes a file asynchronously.
    while !names().is_empty() {}
    assert_eq!(of(&lines(&dir, Kind::SillyRename), Event::Injected).len(), 1);
}

#[test]
fn files_that_a_rule_does_not_name_are_right() {
    let Some((lab, _dir)) = with("[[fault]]\nkind = \"lost\"\npath = \"*.disk\"") else { return };
    let file = direct(&lab.point().join("a.state"));
    write(&file, 0, 1, 4096).expect("writes");
    assert!(read(&file, 0, 4096).expect("reads") == [1; 4096]);
    assert_eq!(lab.report().faults, 0);
}
