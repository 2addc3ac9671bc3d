use std::fmt;
use std::str::FromStr;

use super::{Arc, Clock, Fifo, Lirs, Lru, Policy, S3Fifo, Sieve, TwoQueue, WTinyLfu};

macro_rules! policies {
    ($($(#[$mark:meta])* $policy:ident $name:literal,)+) => {
        /// Policies that need no foresight, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum PolicyKind {
            $(
                $(#[$mark])*
                #[doc = concat!("[`", stringify!($policy), "`], `", $name, "`.")]
                $policy,
            )+
        }

        impl PolicyKind {
            /// All policies.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$policy),+];

            /// Creates an empty cache of `capacity` pages, 1 to 2^28. Panics outside that range.
            pub fn build(self, capacity: usize) -> Box<dyn Policy> {
                match self {
                    $(Self::$policy => Box::new($policy::new(capacity)),)+
                }
            }

            /// Returns the policy's name in configurations.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$policy => $name,)+
                }
            }
        }
    };
}

// One line for each.
policies! {
    #[default]
    Lru "lru",
    Fifo "fifo",
    Clock "clock",
    TwoQueue "2q",
    Arc "arc",
    S3Fifo "s3fifo",
    Sieve "sieve",
    Lirs "lirs",
    WTinyLfu "w-tinylfu",
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error for a name that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy \"{name}\"; supported are \
    {}", PolicyKind::ALL.map(PolicyKind::name).join(", "))]
pub struct UnknownPolicy {
    /// Name that was requested.
    pub name: String,
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}
