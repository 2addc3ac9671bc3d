//! Database sessions of the site, and the statements of its pages.

use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use crate::SiteError;
use crate::tables::{ROLE, SESSIONS};

/// File name of the database's socket.
const SOCKET: &str = ".s.PGSQL.5432";
/// Name of the database.
const DATABASE: &str = "tile";
/// Maximum number of events in the result of a search.
const FOUND_MAX: usize = 10;

/// Query for the numbers of persons, tags and original events, and for the newest event.
const RANGES: &str = "SELECT (SELECT max(id) FROM person), (SELECT max(id) FROM tag), \
                      (SELECT start_value::int FROM pg_sequences WHERE sequencename = 'event_id'), \
                      (SELECT max(id) FROM event)";
const EVENT: &str = "SELECT e.title, e.summary, e.about, e.place, e.held::text, p.name FROM event e \
                     JOIN person p ON p.id = e.organiser WHERE e.id = $1";
const TAGS: &str =
    "SELECT t.id, t.name FROM event_tag own JOIN tag t ON t.id = own.tag WHERE own.event = $1";
const ATTENDEES: &str =
    "SELECT p.name FROM attendee own JOIN person p ON p.id = own.person WHERE own.event = $1";
const COMMENTS: &str = "SELECT p.name, own.rating, own.words FROM comment own \
                        JOIN person p ON p.id = own.person WHERE own.event = $1 ORDER BY own.number";
const ORGANISER: &str = "SELECT organiser FROM event WHERE id = $1";
const SEARCH: &str = "SELECT e.id, e.title, e.summary FROM event_tag own JOIN event e ON e.id = own.event \
                      WHERE own.tag = $1 ORDER BY own.event DESC LIMIT 10";
const NEXT: &str = "SELECT nextval('event_id')::int";
const ADD: &str = "SELECT add_event($1, $2, $3)";

/// Ranges of the numbers in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) persons: u32,
    pub(crate) tags: u32,
    /// Number of events that were created with the tables.
    pub(crate) made: u32,
    /// Number of the newest event.
    pub(crate) newest: u32,
}

/// Rows for an event's page.
#[derive(Debug)]
pub(crate) struct EventRows {
    pub(crate) event: Row,
    pub(crate) tags: Vec<Row>,
    pub(crate) attendees: Vec<Row>,
    pub(crate) comments: Vec<Row>,
}

/// Pool of database sessions. A page waits for a free session.
#[derive(Debug)]
pub(crate) struct Database {
    free: Mutex<Vec<Session>>,
    /// As many permits as there are sessions in `free`.
    permits: Semaphore,
}

/// Database session with its prepared statements.
#[derive(Debug)]
struct Session {
    client: Client,
    event: Statement,
    tags: Statement,
    attendees: Statement,
    comments: Statement,
    organiser: Statement,
    search: Statement,
    next: Statement,
    add: Statement,
}

/// Session that a page uses. Dropping it returns the session to the pool.
struct Lease<'a> {
    database: &'a Database,
    session: Option<Session>,
    _permit: SemaphorePermit<'a>,
}

impl Database {
    /// Opens the sessions through the socket in a directory. `lost` is notified when a session
    /// ends.
    pub(crate) async fn open(directory: &Path, lost: &Arc<Notify>) -> Result<Self, SiteError> {
        let mut free = Vec::new();
        for _ in 0..SESSIONS {
            free.push(Session::open(directory, lost).await?);
        }
        let permits = Semaphore::new(free.len());
        Ok(Self { free: Mutex::new(free), permits })
    }

    async fn lease(&self) -> Lease<'_> {
        let permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let session = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lease { database: self, session, _permit: permit }
    }

    /// Returns the ranges of the numbers in the tables.
    pub(crate) async fn ranges(&self) -> Result<Ranges, SiteError> {
        let lease = self.lease().await;
        let row = lease.session().client.query_one(RANGES, &[]).await;
        let row = row.map_err(SiteError::database("reading the ranges"))?;
        let number = |at| {
            let number = row.try_get::<_, Option<i32>>(at).ok().flatten();
            number.and_then(|own| u32::try_from(own).ok()).filter(|own| *own > 0)
        };
        let [persons, tags, made, newest] = [0, 1, 2, 3].map(number);
        let read = || Some(Ranges { persons: persons?, tags: tags?, made: made?, newest: newest? });
        read().ok_or(SiteError::Empty)
    }

    /// Returns the rows of an event; `None` if it does not exist.
    pub(crate) async fn event(&self, id: u32) -> Result<Option<EventRows>, SiteError> {
        let lease = self.lease().await;
        let own = lease.session();
        let id: &(dyn ToSql + Sync) = &id.cast_signed();
        let Some(event) = own.rows(&own.event, &[id]).await?.pop() else { return Ok(None) };
        let tags = own.rows(&own.tags, &[id]).await?;
        let attendees = own.rows(&own.attendees, &[id]).await?;
        let comments = own.rows(&own.comments, &[id]).await?;
        Ok(Some(EventRows { event, tags, attendees, comments }))
    }

    /// Returns the organiser of an event; `None` if the event does not exist.
    pub(crate) async fn organiser(&self, id: u32) -> Result<Option<u32>, SiteError> {
        let lease = self.lease().await;
        let own = lease.session();
        let rows = own.rows(&own.organiser, &[&id.cast_signed()]).await?;
        Ok(rows.first().map(|row| row.get::<_, i32>(0).cast_unsigned()))
    }

    /// Returns the newest events of a tag, at most ten, each with number, title and summary.
    pub(crate) async fn search(&self, tag: u32) -> Result<Vec<Row>, SiteError> {
        let lease = self.lease().await;
        let own = lease.session();
        let rows = own.rows(&own.search, &[&tag.cast_signed()]).await?;
        debug_assert!(rows.len() <= FOUND_MAX);
        Ok(rows)
    }

    /// Returns a number for a new event.
    pub(crate) async fn next_event(&self) -> Result<u32, SiteError> {
        let lease = self.lease().await;
        let own = lease.session();
        let row = own.client.query_one(&own.next, &[]).await;
        let row = row.map_err(SiteError::database("numbering an event"))?;
        Ok(row.get::<_, i32>(0).cast_unsigned())
    }

    /// Adds an event and commits.
    pub(crate) async fn add(&self, event: u32, person: u32, tag: u32) -> Result<(), SiteError> {
        let lease = self.lease().await;
        let own = lease.session();
        let numbers = [event, person, tag].map(u32::cast_signed);
        let [event, person, tag] = &numbers;
        own.rows(&own.add, &[event, person, tag]).await.map(drop)
    }
}

impl Session {
    async fn open(directory: &Path, lost: &Arc<Notify>) -> Result<Self, SiteError> {
        let failed = || SiteError::database("opening a session");
        let shown = directory.display();
        let opened = std::fs::File::open(directory);
        let opened = opened.map_err(SiteError::io(format!("opening {shown}")))?;
        // The path of a socket has at most 107 bytes, and that of a datastore may be longer.
        let path = format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd());
        let stream = UnixStream::connect(path).await;
        let stream = stream.map_err(SiteError::io(format!("connecting to {shown}/{SOCKET}")))?;
        let config = Config::new().user(ROLE).dbname(DATABASE).to_owned();
        let (client, connection) = config.connect_raw(stream, NoTls).await.map_err(failed())?;
        let lost = Arc::clone(lost);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                // The error itself says "db error"; what the database said is its cause.
                let said =
                    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
                eprintln!("a session of the database: {said}");
            }
            lost.notify_one();
        });
        let statements = [EVENT, TAGS, ATTENDEES, COMMENTS, ORGANISER, SEARCH, NEXT, ADD];
        let mut prepared = Vec::new();
        for statement in statements {
            let statement = client.prepare(statement).await;
            prepared.push(statement.map_err(SiteError::database("preparing a statement"))?);
        }
        let [event, tags, attendees, comments, organiser, search, next, add] =
            <[Statement; 8]>::try_from(prepared).map_err(|_| SiteError::Empty)?;
        Ok(Self { client, event, tags, attendees, comments, organiser, search, next, add })
    }

    async fn rows(
        &self,
        statement: &Statement,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, SiteError> {
        let rows = self.client.query(statement, values).await;
        rows.map_err(SiteError::database("running a statement"))
    }
}

impl Lease<'_> {
    fn session(&self) -> &Session {
        self.session.as_ref().expect("there are as many sessions as permits")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut free = self.database.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.session.take());
    }
}
