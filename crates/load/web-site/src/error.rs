use std::io;

/// Failure of the site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// An operation on a file or socket failed.
    #[error("{what}")]
    Io {
        /// Action that failed, with its object.
        what: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The database refused a session or a statement.
    #[error("{what} of the site's database")]
    Database {
        /// Action that failed.
        what: &'static str,
        /// Error that the database reported.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A session of the database ended.
    #[error("a session of the site's database ended")]
    DatabaseLost,
    /// The tables were not created by this program.
    #[error("the tables of the site's database have no events")]
    Empty,
}

impl SiteError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn database(what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |source| Self::Database { what, source }
    }

    /// Returns advice on what to do, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("use a smaller --footprint, or a datastore with more room")
            }
            Self::Empty => Some("make the tables of the site first"),
            Self::DatabaseLost => Some("the log of the database gives the reason"),
            Self::Io { .. } | Self::Database { .. } => None,
        }
    }
}
