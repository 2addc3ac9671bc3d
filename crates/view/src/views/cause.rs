//! What makes it slow: the part of the I/O with the most waiting beyond its number.

use units::print::percent;

use crate::scope::{ENOUGH, Scope, ratio, size_slot};
use crate::words;

/// A part is named when its share of waiting is this much above its share of I/Os. Our choice.
const GAIN_MIN: f64 = 0.1;
/// And when it has at least this share of waiting. Our choice.
const SHARE_MIN: f64 = 0.3;
/// A workload is named beside it when it has this part of that waiting. Our choice.
const WORKLOAD_MIN: f64 = 0.6;
const SLOTS: usize = 17;

/// Waiting and I/Os by workload and by size.
pub(super) struct Waits {
    names: Vec<String>,
    wait: Vec<[u64; SLOTS]>,
    count: Vec<[u64; SLOTS]>,
}

/// Some classes of one direction, or the flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    from: usize,
    to: usize,
}

/// A part and what it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cause {
    pub part: Part,
    pub share_of_wait: f64,
    pub share_of_count: f64,
    pub count: u64,
    /// The workload most of it is in, and its share of that, where there are several.
    pub workload: Option<(String, f64)>,
}

impl Part {
    /// `writes of 64 KiB and above`.
    pub fn name(self) -> String {
        match self.from {
            16 => "flushes".to_owned(),
            from if from < 8 => words::sizes("read", from, self.to),
            from => words::sizes("write", from - 8, self.to - 8),
        }
    }

    /// What shows it, in the lens: `bs=64k,128k,256k&dir=w`.
    pub fn lens(self) -> String {
        if self.from == 16 {
            return String::new();
        }
        let direction = if self.from < 8 { "r" } else { "w" };
        if self.to - self.from == 7 {
            return format!("dir={direction}");
        }
        let classes = (self.from % 8..=self.to % 8).map(|class| crate::request::CLASSES[class]);
        format!("bs={}&dir={direction}", classes.collect::<Vec<_>>().join(","))
    }

    fn all() -> Vec<Self> {
        let mut parts = vec![Self { from: 16, to: 16 }];
        for first in [0, 8] {
            parts.push(Self { from: first, to: first + 7 });
            for class in 0..8 {
                let at = first + class;
                parts.push(Self { from: at, to: at });
                parts.push(Self { from: first, to: at });
                parts.push(Self { from: at, to: first + 7 });
            }
        }
        parts
    }
}

impl Waits {
    pub fn of(scope: &Scope<'_>) -> Self {
        let mut found = Self { names: Vec::new(), wait: Vec::new(), count: Vec::new() };
        let places: Vec<usize> =
            scope.level.entities.iter().map(|entity| found.place(&entity.workload)).collect();
        for (_, row) in scope.rows() {
            let (place, slot) = (places[row.entity as usize], size_slot(row));
            let wait = &mut found.wait[place][slot];
            *wait = wait.saturating_add(row.service.sum_ns);
            found.count[place][slot] += row.count();
        }
        found
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.wait.push([0; SLOTS]);
        self.count.push([0; SLOTS]);
        self.names.len() - 1
    }

    /// All I/Os.
    pub fn count(&self) -> u64 {
        self.count.iter().flatten().sum()
    }

    fn wait(&self) -> u64 {
        self.wait.iter().flatten().fold(0, |sum, wait| sum.saturating_add(*wait))
    }

    fn cause(&self, part: Part) -> Cause {
        let within = |row: &[u64; SLOTS]| row[part.from..=part.to].iter().sum::<u64>();
        let wait: u64 = self.wait.iter().map(within).fold(0, u64::saturating_add);
        let count: u64 = self.count.iter().map(within).sum();
        let most = self.wait.iter().map(within).enumerate().max_by_key(|(_, wait)| *wait);
        let workload = most
            .filter(|_| self.names.len() > 1)
            .map(|(place, most)| (self.names[place].clone(), ratio(most, wait)));
        Cause {
            part,
            share_of_wait: ratio(wait, self.wait()),
            share_of_count: ratio(count, self.count()),
            count,
            workload: workload.filter(|(_, share)| *share >= WORKLOAD_MIN),
        }
    }

    /// The part that stands out, if one does.
    pub fn worst(&self) -> Option<Cause> {
        if self.count() < ENOUGH {
            return None;
        }
        let gain = |cause: &Cause| cause.share_of_wait - cause.share_of_count;
        // Of parts that hold the same I/Os: the whole direction, which is said in a word, else
        // the narrowest.
        let plain = |cause: &Cause| match cause.part.to - cause.part.from {
            7 => 8,
            width => 7 - width,
        };
        Part::all()
            .into_iter()
            .map(|part| self.cause(part))
            .filter(|cause| cause.count >= ENOUGH)
            .filter(|cause| gain(cause) >= GAIN_MIN && cause.share_of_wait >= SHARE_MIN)
            .max_by(|a, b| {
                let by_gain = (gain(a) * 1e6).round().total_cmp(&(gain(b) * 1e6).round());
                by_gain.then_with(|| plain(a).cmp(&plain(b)))
            })
    }

    /// The sentence.
    pub fn sentence(&self) -> String {
        if self.count() < ENOUGH {
            return words::too_few(self.count());
        }
        let Some(cause) = self.worst() else { return self.even() };
        let name = words::capital(&cause.part.name());
        let (wait, count) = (percent(cause.share_of_wait), percent(cause.share_of_count));
        let place =
            cause.workload.map(|(name, share)| format!(", {} of that in {name}", percent(share)));
        let place = place.unwrap_or_default();
        format!("{name} cause {wait} of waiting time with {count} of the I/Os{place}.")
    }

    fn even(&self) -> String {
        let reads = self.cause(Part { from: 0, to: 7 });
        let writes = self.cause(Part { from: 8, to: 15 });
        let (r, w) = (percent(reads.share_of_wait), percent(writes.share_of_wait));
        match (reads.count, writes.count) {
            (_, 0) | (0, _) => "No size of I/O waits out of proportion to its number.".to_owned(),
            _ => format!(
                "No direction or size waits out of proportion to its number: reads cause {r} of \
                 waiting time, writes {w}."
            ),
        }
    }
}
