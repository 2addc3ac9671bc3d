//! `dirs-sys`, which Zenoh's configuration brings along to expand `~` in paths, asks an `Option` whether
//! it contains a value. The crate in which it finds that method is under the MPL 2.0, and ours are
//! permissive only; the method is one line.
#![forbid(unsafe_code)]

/// What `dirs-sys` 0.5 uses of the crate of this name.
pub trait OptionExt {
    /// What is in it.
    type Value;

    /// Whether it holds this value.
    fn contains<U: PartialEq<Self::Value>>(&self, value: &U) -> bool;
}

impl<T> OptionExt for Option<T> {
    type Value = T;

    fn contains<U: PartialEq<T>>(&self, value: &U) -> bool {
        self.as_ref().is_some_and(|own| *value == *own)
    }
}
