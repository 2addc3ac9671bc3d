//! Warnings for people: one line for each code and advice.

use run_store::run::{Run, Warning};

use crate::document::FoldedWarning;

/// Maximum number of named differences; further differences are only counted.
const NAMED_MAX: usize = 12;

/// Combines the warnings of the run, then of its steps, in the order in which each first occurred.
/// A ladder repeats a warning at each step and for each workload, so warnings with the same code
/// and advice become one line.
pub fn warnings(run: &Run) -> Vec<FoldedWarning> {
    let of_run = run.warnings.iter().map(|warning| (warning, None));
    let of_steps = run
        .steps
        .iter()
        .flat_map(|step| step.warnings.iter().map(move |warning| (warning, Some(step.tiles))));
    let mut groups: Vec<Vec<(&Warning, Option<u32>)>> = Vec::new();
    for given in of_run.chain(of_steps) {
        let is_same = |group: &&mut Vec<(&Warning, Option<u32>)>| {
            let (first, tiles) = group[0];
            first.id == given.0.id
                && first.hint == given.0.hint
                && tiles.is_some() == given.1.is_some()
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(given),
            None => groups.push(vec![given]),
        }
    }
    groups.iter().map(|group| fold(group)).collect()
}

fn fold(group: &[(&Warning, Option<u32>)]) -> FoldedWarning {
    let first = group[0].0;
    let all = || group.iter().map(|(warning, _)| *warning);
    let others = differences(&each_once(all().map(|warning| warning.text.as_str())));
    let likewise = match others.is_empty() {
        true => String::new(),
        false => format!("; likewise {}", listed(&others)),
    };
    FoldedWarning {
        id: first.id.clone(),
        place: place(group),
        text: format!("{}{likewise}", first.text),
        found: listed(&each_once(all().filter_map(|warning| warning.value.as_deref()))),
        allowed: listed(&each_once(all().filter_map(|warning| warning.limit.as_deref()))),
        hint: first.hint.clone(),
    }
}

/// Describes the place, with the number if needed: `at 1, 2, 4 tiles, 24 times`; empty for a single
/// warning of the run.
fn place(group: &[(&Warning, Option<u32>)]) -> String {
    let mut tiles: Vec<u32> = group.iter().filter_map(|(_, tiles)| *tiles).collect();
    tiles.sort_unstable();
    tiles.dedup();
    let mut parts = Vec::new();
    if let (Some(first), Some(last)) = (tiles.first(), tiles.last()) {
        let noun = if *last == 1 { "tile" } else { "tiles" };
        let is_range = tiles.len() > 2 && (last - first) as usize + 1 == tiles.len();
        let list: Vec<String> = tiles.iter().map(u32::to_string).collect();
        let list = if is_range { format!("{first} to {last}") } else { list.join(", ") };
        parts.push(format!("at {list} {noun}"));
    }
    if group.len() > tiles.len().max(1) {
        parts.push(format!("{} times", group.len()));
    }
    parts.join(", ")
}

fn each_once<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Joins a list: `a, b, c`; if it is long, `a, b and 7 more`.
fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let named: Vec<&str> = items.iter().take(NAMED_MAX).map(T::as_ref).collect();
    match items.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns the differing middle parts of the texts after the first. The words that all texts share
/// at begin and end are removed.
fn differences(texts: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let first = &words[0];
    let all_say = |at: &dyn Fn(&[&str]) -> usize| {
        words.iter().all(|words| words[at(words)] == first[at(first)])
    };
    let begin = (0..shortest).take_while(|back| all_say(&|_| *back)).count();
    let end =
        (0..shortest - begin).take_while(|back| all_say(&|words| words.len() - 1 - back)).count();
    let between = |words: &Vec<&str>| match &words[begin..words.len() - end] {
        [] => words.join(" "),
        own => own.join(" ").trim_end_matches([':', ',']).to_owned(),
    };
    words.iter().skip(1).map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(id: &str, text: &str) -> Warning {
        let (id, text) = (id.to_owned(), text.to_owned());
        Warning { id, text, value: None, limit: None, hint: None }
    }

    fn untested(of: &str) -> Warning {
        warning("limit-not-tested", &format!("the {of} was not tested: nothing was done"))
    }

    #[test]
    fn limits_that_no_step_tested_are_one_line_that_names_them_all() {
        let each = ["shop's limit on order", "mail's limit on send"].map(untested);
        let group: Vec<_> = [1, 2, 4, 4]
            .into_iter()
            .flat_map(|tiles| each.iter().map(move |warning| (warning, Some(tiles))))
            .collect();
        let told = fold(&group);
        assert_eq!(told.place, "at 1, 2, 4 tiles, 8 times");
        assert_eq!(
            told.text,
            "the shop's limit on order was not tested: nothing was done; likewise mail's limit on send"
        );
    }

    #[test]
    fn each_measured_value_is_kept() {
        let found = ["range 31 %", "range 40 %", "range 31 %"].map(|value| Warning {
            value: Some(value.to_owned()),
            ..warning("not-steady", "its steady state was not shown")
        });
        let group: Vec<_> = found.iter().map(|warning| (warning, Some(3))).collect();
        let told = fold(&group);
        assert_eq!(
            (told.place.as_str(), told.text.as_str()),
            ("at 3 tiles, 3 times", found[0].text.as_str())
        );
        assert_eq!((told.found.as_str(), told.allowed.as_str()), ("range 31 %, range 40 %", ""));
    }

    #[test]
    fn what_is_said_once_reads_as_it_was_written() {
        let one = warning("same-device", "results are written to the device under test");
        let told = fold(&[(&one, None)]);
        assert_eq!((told.place.as_str(), told.text), ("", one.text.clone()));
        let told = fold(&[(&one, Some(1)), (&one, Some(2)), (&one, Some(3))]);
        assert_eq!((told.place.as_str(), told.text), ("at 1 to 3 tiles", one.text.clone()));
        assert_eq!(fold(&[(&one, Some(1))]).place, "at 1 tile");
    }

    #[test]
    fn texts_without_common_parts_are_named_whole() {
        for (texts, likewise) in [
            (["a b", "c d"], "c d"),
            (["a b", "a x b"], "x"),
            (["a x b", "a b"], "a b"),
            (["a a", "a"], "a"),
            (["host a: full", "host b: full"], "b"),
        ] {
            assert_eq!(differences(&texts), [likewise], "{texts:?}");
        }
    }

    #[test]
    fn many_are_counted_after_a_dozen() {
        let all: Vec<Warning> = (0..20).map(|n| untested(&format!("limit {n}"))).collect();
        let group: Vec<_> = all.iter().map(|warning| (warning, Some(1))).collect();
        let text = fold(&group).text;
        assert!(text.contains(", 12 and 7 more") && !text.contains("13"), "{text}");
    }
}
