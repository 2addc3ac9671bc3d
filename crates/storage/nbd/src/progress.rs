/// Result of feeding bytes to a state machine.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Progress<T> {
    /// Number of input bytes that were consumed. The driver keeps the rest and passes it again.
    pub consumed: usize,
    /// Next action that the driver must take.
    pub next: T,
}
