use super::{Run, Warning};

/// Differences that are named before the rest is only counted.
const NAMED_MAX: usize = 12;

/// Warnings of one code with one advice, told as one: what a ladder says again at each step and of
/// each workload is read once. The page has its twin in `web/src/lib/ui/disclosure.ts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<'a> {
    /// The first of them.
    pub first: &'a Warning,
    /// What the others say where the first says something else, each once: `mail's limit on send`.
    pub likewise: Vec<String>,
    /// Measured values of all of them, each once.
    pub values: Vec<&'a str>,
    /// Limits they were held against, each once.
    pub limits: Vec<&'a str>,
    /// Tiles of the steps that gave it, ascending, each once; none if it is about the run.
    pub tiles: Vec<u32>,
    /// How often it was given.
    pub times: usize,
}

/// Warnings of the run, then of its steps, in the order in which each was first given.
pub fn told(run: &Run) -> Vec<Told<'_>> {
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

fn fold<'a>(group: &[(&'a Warning, Option<u32>)]) -> Told<'a> {
    let mut tiles: Vec<u32> = group.iter().filter_map(|(_, tiles)| *tiles).collect();
    tiles.sort_unstable();
    tiles.dedup();
    let all = || group.iter().map(|(warning, _)| *warning);
    Told {
        first: group[0].0,
        likewise: differences(&each_once(all().map(|warning| warning.text.as_str()))),
        values: each_once(all().filter_map(|warning| warning.value.as_deref())),
        limits: each_once(all().filter_map(|warning| warning.limit.as_deref())),
        tiles,
        times: group.len(),
    }
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

/// `a, b, c`; of very many the first `a, b and 7 more`.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let named: Vec<&str> = items.iter().take(NAMED_MAX).map(T::as_ref).collect();
    match items.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What all but the first say between the words that all begin and end with.
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

impl Told<'_> {
    /// Where, and how often if that does not say it: `at 1, 2, 4 tiles, 24 times`; empty for what
    /// was said once of the run.
    pub fn place(&self) -> String {
        let mut parts = Vec::new();
        if let (Some(first), Some(last)) = (self.tiles.first(), self.tiles.last()) {
            let noun = if *last == 1 { "tile" } else { "tiles" };
            let is_range = self.tiles.len() > 2 && (last - first) as usize + 1 == self.tiles.len();
            let list: Vec<String> = self.tiles.iter().map(u32::to_string).collect();
            let list = if is_range { format!("{first} to {last}") } else { list.join(", ") };
            parts.push(format!("at {list} {noun}"));
        }
        if self.times > self.tiles.len().max(1) {
            parts.push(format!("{} times", self.times));
        }
        parts.join(", ")
    }

    /// What it says, and of what else: `the shop's limit on order was not tested; likewise mail's
    /// limit on send`.
    pub fn text(&self) -> String {
        let text = &self.first.text;
        if self.likewise.is_empty() {
            return text.clone();
        }
        format!("{text}; likewise {}", listed(&self.likewise))
    }
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
        assert_eq!(told.place(), "at 1, 2, 4 tiles, 8 times");
        assert_eq!(
            told.text(),
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
        assert_eq!((told.place().as_str(), told.likewise.len()), ("at 3 tiles, 3 times", 0));
        assert_eq!(
            (listed(&told.values).as_str(), told.limits.len()),
            ("range 31 %, range 40 %", 0)
        );
    }

    #[test]
    fn what_is_said_once_reads_as_it_was_written() {
        let one = warning("same-device", "results are written to the device under test");
        let told = fold(&[(&one, None)]);
        assert_eq!((told.place().as_str(), told.text()), ("", one.text.clone()));
        let told = fold(&[(&one, Some(1)), (&one, Some(2)), (&one, Some(3))]);
        assert_eq!((told.place().as_str(), told.text()), ("at 1 to 3 tiles", one.text.clone()));
        assert_eq!(fold(&[(&one, Some(1))]).place(), "at 1 tile");
    }

    #[test]
    fn texts_that_share_nothing_or_contain_each_other_are_named_whole() {
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
        let text = fold(&group).text();
        assert!(text.contains(", 12 and 7 more") && !text.contains("13"), "{text}");
    }
}
