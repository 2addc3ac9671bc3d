use run_store::run::Origin;

/// A value and who gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who gave it.
    pub origin: Origin,
}
