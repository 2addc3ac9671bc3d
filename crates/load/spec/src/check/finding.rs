use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;
use units::Nanos;

use crate::error::Problem;
use crate::locate::DefinitionPath;
use crate::nearest::{did_you_mean, plural};
use crate::study::formula::FormulaError;

/// Semantic error, and its path in the definition.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub place: DefinitionPath,
    message: String,
    help: Option<String>,
    /// Text value at the path, and the byte range of the error in this text.
    part: Option<(String, Range<usize>)>,
}

impl Finding {
    pub fn into_problem(self) -> Problem {
        Problem { message: self.message, span: None, help: self.help, path: self.place.to_string() }
    }

    /// Returns the byte range of the error in the file.
    pub fn span(&self, document: &Spanned<DeTable<'_>>, text: &str) -> Option<Range<usize>> {
        let whole = self.place.span(document)?;
        let narrow = || {
            let (value, part) = self.part.as_ref()?;
            let start = whole.start + text.get(whole.clone())?.find(value.as_str())?;
            Some(start + part.start..start + part.end)
        };
        Some(narrow().unwrap_or(whole.clone()))
    }
}

/// Errors found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    /// Adds an error without help.
    pub fn add(&mut self, place: DefinitionPath, message: impl Into<String>) {
        self.0.push(Finding { place, message: message.into(), help: None, part: None });
    }

    /// Adds an error with a help text.
    pub fn add_help(
        &mut self,
        place: DefinitionPath,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.0.push(Finding {
            place,
            message: message.into(),
            help: Some(help.into()),
            part: None,
        });
    }

    /// Adds an error in a formula.
    pub fn formula(&mut self, place: DefinitionPath, text: &str, error: FormulaError) {
        let part = Some((text.to_owned(), error.at));
        self.0.push(Finding { place, message: error.message, help: error.help, part });
    }

    /// Checks that `name` is one of `known`.
    pub fn known(&mut self, place: DefinitionPath, what: &str, name: &str, known: &[&str]) {
        if !known.contains(&name) {
            let help = did_you_mean(name, known, &plural(what));
            self.add_help(place, format!("there is no {what} \"{name}\""), help);
        }
    }

    /// Checks that `list` is not empty.
    pub fn not_empty<T>(&mut self, place: DefinitionPath, what: &str, list: &[T]) {
        if list.is_empty() {
            self.add(place, format!("{what} is empty"));
        }
    }

    /// Checks that `number` is 1 or more.
    pub fn at_least_one(&mut self, place: DefinitionPath, what: &str, number: u32) {
        if number == 0 {
            self.add(place, format!("{what} is 0 and must be at least 1"));
        }
    }

    /// Checks that `time` is above zero.
    pub fn some_time(&mut self, place: DefinitionPath, what: &str, time: Nanos) {
        if time == Nanos::ZERO {
            self.add(place, format!("{what} is 0 and must be above 0"));
        }
    }

    /// Checks that `number` is finite and above zero.
    pub fn above_zero(&mut self, place: DefinitionPath, what: &str, number: f64) {
        if !(number.is_finite() && number > 0.0) {
            self.add(place, format!("{what} is {number} and must be above 0"));
        }
    }

    /// Checks that all weights are finite and not negative. Returns their sum; `None` if a weight
    /// is invalid.
    pub fn each_weight(
        &mut self,
        weights: impl IntoIterator<Item = (DefinitionPath, f64)>,
    ) -> Option<f64> {
        let mut total = Some(0.0);
        for (place, weight) in weights {
            if weight.is_finite() && weight >= 0.0 {
                total = total.map(|sum| sum + weight);
            } else {
                total = None;
                self.add(place, format!("the weight {weight} must be a number from 0 up"));
            }
        }
        total
    }

    /// Checks that all weights are valid and that at least one is above zero. Each weight has its
    /// own path; `around` is the path for errors of all weights together.
    pub fn weights(
        &mut self,
        around: DefinitionPath,
        weights: impl IntoIterator<Item = (DefinitionPath, f64)>,
    ) {
        if self.each_weight(weights) == Some(0.0) {
            self.add_help(
                around,
                "all weights are 0, so nothing would ever be chosen",
                "give at least one a weight above 0",
            );
        }
    }

    /// Checks that all names are valid and unique.
    pub fn names<'a>(
        &mut self,
        what: &str,
        names: impl IntoIterator<Item = (DefinitionPath, &'a str)>,
    ) {
        let mut seen = HashSet::new();
        for (place, name) in names {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
            if name.is_empty() || !name.chars().all(fine) {
                self.add_help(
                    place,
                    format!("\"{name}\" is not a name"),
                    "a name is made of a-z, 0-9, \"-\", \"_\" and \".\"",
                );
            } else if !seen.insert(name) {
                self.add(place, format!("there is more than one {what} \"{name}\""));
            }
        }
    }

    /// Checks that a text is not blank.
    pub fn says_something(&mut self, place: DefinitionPath, what: &str, text: &str) {
        if text.trim().is_empty() {
            self.add(place, format!("{what} is empty"));
        }
    }
}
