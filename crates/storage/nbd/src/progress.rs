/// Result of feeding bytes to a state machine.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Progress<T> {
    /// Bytes of the input that were consumed. The driver keeps the rest and feeds it again.
    pub consumed: usize,
    /// Next action of the driver.
    pub next: T,
}
