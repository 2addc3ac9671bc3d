//! Text for a terminal of a given width: lines are broken at spaces, and nothing is cut off.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Width, in columns, of the terminal to which text for people is written; unlimited without a
/// terminal.
///
/// The program has one terminal, and tables are made in many crates. Passing the width as an
/// argument would put it into every signature between.
static COLUMNS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Minimum width to which text is fitted. With less, lines of single letters would result.
const COLUMNS_MIN: usize = 20;

/// Sets the maximum width of text for people, in columns, from now on.
pub fn set_columns(columns: usize) {
    COLUMNS.store(columns.max(COLUMNS_MIN), Ordering::Relaxed);
}

/// Returns the maximum width of text for people, in columns.
pub fn columns() -> usize {
    COLUMNS.load(Ordering::Relaxed)
}

/// Breaks a line at spaces into rows of at most `width` columns. Rows after the first begin with
/// `hanging` spaces. A word that is longer than a row continues in the first column of the next
/// row, so that a copied address stays whole.
pub fn filled(line: &str, width: usize, hanging: usize) -> Vec<String> {
    let width = width.max(1);
    let hanging = if hanging + COLUMNS_MIN / 2 > width { 0 } else { hanging };
    if length(line) <= width {
        return vec![line.to_owned()];
    }
    let begin = line.len() - line.trim_start_matches(' ').len();
    let mut rows = vec![line[..begin].to_owned()];
    // Several spaces in a row are kept: they set a label apart.
    for word in line[begin..].split_inclusive(' ') {
        let (letters, blank) = match word.strip_suffix(' ') {
            Some(letters) => (letters, " "),
            None => (word, ""),
        };
        let row = rows.last_mut().expect("the row is never empty");
        let is_begin = row.trim().is_empty();
        if !is_begin && length(row) + length(letters) > width && length(letters) + hanging <= width
        {
            rows.push(format!("{:hanging$}{letters}{blank}", ""));
        } else {
            push_long(&mut rows, letters, width);
            rows.last_mut().expect("the row is never empty").push_str(blank);
        }
    }
    for row in &mut rows {
        row.truncate(row.trim_end().len());
    }
    rows
}

/// Appends a word to the last row, and continues in new rows when a row is full.
fn push_long(rows: &mut Vec<String>, word: &str, width: usize) {
    for letter in word.chars() {
        let row = rows.last_mut().expect("the row is never empty");
        if length(row) >= width {
            rows.push(String::from(letter));
        } else {
            row.push(letter);
        }
    }
}

/// Returns the column of the first word after a label (`page       http://...`), or the column
/// where the line starts if it has no label.
pub fn hanging_of(line: &str) -> usize {
    /// Column at which the text after the label starts, in results and overviews.
    const LABEL: usize = 11;
    let begin = line.chars().take_while(|letter| *letter == ' ').count();
    let is_label = begin == 0 && line.is_char_boundary(LABEL.min(line.len())) && {
        let (label, words) = line.split_at(LABEL.min(line.len()));
        label.ends_with(' ')
            && !words.is_empty()
            && !words.starts_with(' ')
            && !label.trim_end().contains(' ')
            && !label.trim().is_empty()
    };
    if is_label { LABEL } else { begin }
}

pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_below_their_label() {
        let line = "expected   tiles >= 8: not decided: at least 4 tiles held; no more were tried";
        let rows = filled(line, 40, hanging_of(line));
        assert!(rows.iter().all(|row| length(row) <= 40), "{rows:?}");
        assert!(rows[1].starts_with("           "), "{rows:?}");
        assert_eq!(filled("short", 40, 0), ["short"]);
        assert_eq!(hanging_of("one two three four"), 0);
        assert_eq!(hanging_of("  indented words"), 2);
    }

    #[test]
    fn address_goes_on_in_the_next_row_and_is_whole() {
        let address =
            "http://127.0.0.1:7655/run/2026-11-28T01-20-27Z-datacenter-0123456789?token=ab";
        let line = format!("page       {address}");
        let rows = filled(&line, 60, hanging_of(&line));
        assert!(rows.iter().all(|row| length(row) <= 60), "{rows:?}");
        let whole: String = rows.concat();
        assert!(whole.contains(address), "{rows:?}");
    }
}
