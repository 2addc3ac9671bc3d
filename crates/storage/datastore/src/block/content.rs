//! Content of a device that may be written: nothing, or data that Tilemark left there.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};
use units::Bytes;

use super::middle::{self, Middle};
use crate::Refusal;
use crate::label::{LABEL_LENGTH, Label, RESERVED, data_end};
use crate::preflight::Examination;
use crate::signature::{self, Signature};

/// Checks the rule on both ends of a device: all zeros, except for a valid label of Tilemark.
/// Returns the label.
pub(super) fn check_ends(
    file: &File,
    size: u64,
    path: &Path,
    examination: &mut Examination,
) -> Option<Label> {
    let (label, found) = match read_content(file, size) {
        Ok(content) => content,
        Err(error) => {
            let refusal = Refusal::unreadable("read the ends of", path, error);
            let rule = ("both ends can be read", "readable");
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    let words = match (&found, &label) {
        (Some(found), _) => {
            format!("{} at byte {} ({} 8 MiB)", found.name, found.offset, found.end.word())
        }
        (None, Some(label)) => format!("the label of tilemark run {}", label.run_id),
        (None, None) => "zeros".to_owned(),
    };
    let refusal = found.map(|found| Refusal::Content {
        device: path.to_owned(),
        signature: found.name.to_owned(),
        offset: found.offset,
        end: found.end,
    });
    let rule = ("the first and last 8 MiB are empty", "zeros, or a label of ours and zeros");
    examination.check("content", rule, words, refusal);
    label
}

/// Checks the rule on the middle of a device: a sample of it must be zeros, unless a label of
/// Tilemark marks its data as Tilemark's.
pub(super) fn check_middle(
    file: &File,
    size: u64,
    label: Option<&Label>,
    path: &Path,
    examination: &mut Examination,
) {
    let rule = ("a sample of the middle is empty", "zeros, or any data under a label of ours");
    if let Some(label) = label {
        let found = format!("not checked: tilemark run {} filled it", label.run_id);
        return examination.check("content-middle", rule, found, None);
    }
    match middle::look(file, RESERVED..data_end(Bytes::new(size))) {
        Ok(found) => {
            let refusal = found.first.map(|offset| Refusal::MiddleContent {
                device: path.to_owned(),
                filled: found.filled,
                looked: found.looked,
                offset,
            });
            examination.check("content-middle", rule, words(&found), refusal);
        }
        Err(error) => {
            let refusal = Refusal::unreadable("read the middle of", path, error);
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
        }
    }
}

fn words(middle: &Middle) -> String {
    let Middle { looked, blocks, filled, .. } = middle;
    let filled = if *filled == 0 { "all zero".to_owned() } else { format!("{filled} hold data") };
    format!("{looked} of {blocks} blocks of {} checked, {filled}", Bytes::new(middle::BLOCK))
}

fn read_content(file: &File, size: u64) -> std::io::Result<(Option<Label>, Option<Signature>)> {
    // Older data in the page cache may differ from the data on the device.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    let length = usize::try_from(size.min(RESERVED)).expect("at most 8 MiB");
    let mut first = vec![0; length];
    file.read_exact_at(&mut first, 0)?;
    let mut last = vec![0; length];
    file.read_exact_at(&mut last, size - length as u64)?;
    let label = Label::decode(&first, Bytes::new(size));
    if label.is_some() {
        first[..LABEL_LENGTH].fill(0);
        // On a device below 16 MiB the ends overlap.
        let overlap = usize::try_from(size - length as u64).unwrap_or(usize::MAX);
        if let Some(seen) = LABEL_LENGTH.checked_sub(overlap) {
            last[..seen].fill(0);
        }
    }
    let found = signature::recognise(&first, &last, size);
    Ok((label, found))
}
