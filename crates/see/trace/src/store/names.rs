//! Names of VMs and devices for the columns. Each is unique and stored once.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::StringArray;
use untrusted::Malformed;

/// Names in the order of their index.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Kind of the named objects: `VM`.
    what: &'static str,
    unique: Vec<String>,
    taken: BTreeSet<String>,
    array: Arc<StringArray>,
}

impl Names {
    pub(super) fn new(what: &'static str) -> Self {
        let array = Arc::new(StringArray::from_iter_values(std::iter::empty::<&str>()));
        Self { what, unique: Vec::new(), taken: BTreeSet::new(), array }
    }

    /// Adds names that are new. Of two equal names, the later one gets a number.
    pub(super) fn update<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a str>) {
        if names.len() <= self.unique.len() {
            return;
        }
        for name in names.skip(self.unique.len()) {
            let mut unique = name.to_owned();
            let mut number = 2;
            while !self.taken.insert(unique.clone()) {
                unique = format!("{name} ({number})");
                number += 1;
            }
            self.unique.push(unique);
        }
        self.array = Arc::new(StringArray::from_iter_values(&self.unique));
    }

    pub(super) fn as_slice(&self) -> &[String] {
        &self.unique
    }

    pub(super) fn array(&self) -> &Arc<StringArray> {
        &self.array
    }

    /// Refuses an index without a name, unless there are no names at all.
    pub(super) fn check(&self, greatest: u16) -> Result<(), Malformed> {
        if self.unique.is_empty() || usize::from(greatest) < self.unique.len() {
            return Ok(());
        }
        let (what, count) = (self.what, self.unique.len());
        Err(format!("a record has {what} {greatest} (from 0), but only {count} exist").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_stay_apart() {
        let mut names = Names::new("VM");
        names.update(["fio", "fio", "fio (2)"].into_iter());
        assert_eq!(names.as_slice(), ["fio", "fio (2)", "fio (2) (2)"]);
        names.update(["fio", "fio", "fio (2)", "sda"].into_iter());
        assert_eq!(names.as_slice().len(), 4);
        assert!(names.check(3).is_ok());
        assert!(names.check(4).expect_err("too many").to_string().contains("VM 4"));
    }
}
