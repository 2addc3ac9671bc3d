use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

/// Memory of virtual machines, which a live migration copies. All values are for each virtual CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Migration {
    /// Memory for each virtual CPU (default 2 GiB, our assumption), above 0.
    #[serde(default = "memory")]
    pub memory: Bytes,
    /// Bytes of memory that change in a second for each virtual CPU (default 20 MiB, our
    /// assumption).
    #[serde(default = "dirtied")]
    pub dirtied: Bytes,
}

impl Default for Migration {
    fn default() -> Self {
        Self { memory: memory(), dirtied: dirtied() }
    }
}

const fn memory() -> Bytes {
    Bytes::new(2 << 30)
}

const fn dirtied() -> Bytes {
    Bytes::new(20 << 20)
}

/// Balancing of the hosts' load by live migrations, as VMware DRS does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drs {
    /// Migration threshold, from 1 (conservative: none of its moves are for balance) to 5
    /// (aggressive), default 3. It applies recommendations up to this priority.
    #[serde(default = "three")]
    pub threshold: u32,
    /// Time between two decisions (default 5 min, as in DRS), above 0.
    #[serde(default = "five_minutes")]
    pub every: Nanos,
}

const fn three() -> u32 {
    3
}

const fn five_minutes() -> Nanos {
    Nanos::from_secs(300)
}
