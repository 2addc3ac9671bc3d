//! Real applications: servers that a run starts for each tile, to answer the tile's calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::endpoint::Protocol;

/// A real application. If the user gives an address for each endpoint, no application is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Application {
    /// Kind of the application.
    pub kind: ApplicationKind,
    /// Size of its data at full size. The plan's footprint scales it.
    pub size: Bytes,
}

/// Kind of a real application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationKind {
    /// Database of a shop, on PostgreSQL.
    Shop,
    /// Mail server: Exim takes mail over SMTP, Dovecot serves mailboxes over IMAP.
    Mail,
    /// Web site of our own: a social calendar, on PostgreSQL and files.
    Web,
}

impl ApplicationKind {
    /// Returns the protocols of its endpoints, one per endpoint.
    pub const fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Shop => &[Protocol::Postgres],
            Self::Mail => &[Protocol::Smtp, Protocol::Imap],
            Self::Web => &[Protocol::Http],
        }
    }
}
