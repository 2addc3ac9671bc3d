//! `dirs-sys`, which Zenoh's configuration brings along to expand `~` in paths, asks an `Option` whether
//! it contains a value. The crate in which it finds that method is under the MPL 2.0, and ours are
//! permissive only; the method is one line.
#![forbid(unsafe_code)]

/// Part of the crate of this name that `dirs-sys` 0.5 uses.
pub trait OptionExt {
    /// Value inside.
    type Value;

    /// True if this value is inside.
    fn contains<U: PartialEq<Self::Value>>(&self, value: &U) -> bool;
}

impl<T> OptionExt for Option<T> {
    type Value = T;

    fn contains<U: PartialEq<T>>(&self, value: &U) -> bool {
        self.as_ref().is_some_and(|own| *value == *own)
    }
}
