/// How far a machine came with what it was fed.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Progress<T> {
    /// Bytes from the front of the input that it has done with; the driver keeps the others.
    pub consumed: usize,
    /// What the driver does now.
    pub next: T,
}
