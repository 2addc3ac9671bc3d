//! Answers of the site.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{Request, Response, StatusCode};
use futures_util::stream;
use tokio_postgres::Row;

use crate::SiteError;
use crate::ask::{Ask, EventFile, folded};
use crate::database::{Database, EventRows, Ranges};
use crate::files::{FILES, FileKind};
use crate::uploads::{self, UPLOADS};

/// Maximum size of a picture, in bytes. Our choice: a picture is kept in memory until it is
/// durable.
const PICTURE_MAX: usize = 1 << 20;
/// Maximum time for the upload of a picture. Our choice.
const PICTURE_WITHIN: Duration = Duration::from_secs(30);
/// Bytes of a file that are in memory at once, for each open download.
const PART: u64 = 64 << 10;
/// Maximum number of errors in the log. Our choice: further errors explain nothing new, and the log
/// must not fill the disk.
const ERRORS_MAX: u32 = 100;

/// Pages of the site.
#[derive(Debug)]
pub(crate) struct Pages {
    database: Database,
    ranges: Ranges,
    /// Number of the newest event that requests can find.
    newest: AtomicU32,
    errors: AtomicU32,
    files: PathBuf,
    uploads: PathBuf,
}

/// Reason why a request is refused.
enum Refusal {
    Status(StatusCode),
    Site(SiteError),
}

impl From<SiteError> for Refusal {
    fn from(error: SiteError) -> Self {
        Self::Site(error)
    }
}

impl Pages {
    pub(crate) fn new(database: Database, ranges: Ranges, data: &Path) -> Self {
        let newest = AtomicU32::new(ranges.newest);
        let [files, uploads] = [FILES, UPLOADS].map(|name| data.join(name));
        Self { database, ranges, newest, errors: AtomicU32::new(0), files, uploads }
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let status = match self.page(request).await {
            Ok(response) => return response,
            Err(Refusal::Status(status)) => status,
            Err(Refusal::Site(error)) => {
                self.log(&error);
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        response
    }

    async fn page(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let newest = self.newest.load(Ordering::Relaxed);
        let event = |number| folded(number, self.ranges.made, newest);
        let Ranges { persons, tags, .. } = self.ranges;
        match Ask::read(request.method(), request.uri()).map_err(Refusal::Status)? {
            Ask::Event(number) => self.event(event(number)).await,
            Ask::File(number, file) => self.file(event(number), file).await,
            Ask::Search(tag) => {
                let tag = folded(tag, tags, tags);
                Ok(page(StatusCode::OK, &found(tag, &self.database.search(tag).await?)))
            }
            Ask::Add { person, tag } => {
                let [person, tag] = [folded(person, persons, persons), folded(tag, tags, tags)];
                self.add(person, tag, request.into_body()).await
            }
        }
    }

    async fn event(&self, id: u32) -> Result<Response<Body>, Refusal> {
        let rows = self.database.event(id).await?;
        let rows = rows.ok_or(Refusal::Status(StatusCode::NOT_FOUND))?;
        Ok(page(StatusCode::OK, &event_page(id, &rows)))
    }

    async fn file(&self, event: u32, file: EventFile) -> Result<Response<Body>, Refusal> {
        let is_made = event <= self.ranges.made;
        let none = || Refusal::Status(StatusCode::NOT_FOUND);
        let path = match file {
            EventFile::Picture if is_made => self.files.join(FileKind::EventPicture.path(event)),
            EventFile::Picture => self.uploads.join(uploads::name(event)),
            EventFile::Document if is_made => self.files.join(FileKind::EventDocument.path(event)),
            EventFile::Document => return Err(none()),
            EventFile::Organiser => {
                let person = self.database.organiser(event).await?.ok_or_else(none)?;
                self.files.join(FileKind::PersonPicture.path(person))
            }
        };
        let opened = blocking(move || {
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        });
        match opened.await {
            Ok((file, length)) => Ok(download(file, length)),
            // A number without an event: the site ended between the number and the row.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(none()),
            Err(error) => Err(SiteError::io("opening a file of an event")(error).into()),
        }
    }

    async fn add(&self, person: u32, tag: u32, body: Body) -> Result<Response<Body>, Refusal> {
        let refused = |status| Refusal::Status(status);
        let picture = tokio::time::timeout(PICTURE_WITHIN, to_bytes(body, PICTURE_MAX)).await;
        let picture = picture.map_err(|_| refused(StatusCode::REQUEST_TIMEOUT))?;
        let picture = picture.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE))?;
        if picture.is_empty() {
            return Err(refused(StatusCode::BAD_REQUEST));
        }
        let event = self.database.next_event().await?;
        let directory = self.uploads.clone();
        let kept = blocking(move || uploads::keep(&directory, event, &picture)).await;
        kept.map_err(SiteError::io("keeping a picture"))?;
        self.database.add(event, person, tag).await?;
        self.newest.fetch_max(event, Ordering::Relaxed);
        let text = format!("<p><a href=\"/event/{event}\">Event {event}</a> was added.</p>");
        Ok(page(StatusCode::CREATED, &text))
    }

    fn log(&self, error: &SiteError) {
        if self.errors.fetch_add(1, Ordering::Relaxed) < ERRORS_MAX {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(error) = cause {
                // Writing to a string cannot fail.
                let _ = write!(text, ": {error}");
                cause = error.source();
            }
            eprintln!("{text}");
        }
    }
}

/// Runs work that may wait for the storage, without blocking other pages.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other)?
}

/// Returns a response with a whole file, of which only one part at a time is in memory.
fn download(file: File, length: u64) -> Response<Body> {
    let file = Arc::new(file);
    let parts = stream::try_unfold(0, move |at| {
        let (file, size) = (Arc::clone(&file), PART.min(length - at));
        async move {
            if size == 0 {
                return Ok::<_, io::Error>(None);
            }
            let part = blocking(move || {
                let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
                file.read_exact_at(&mut bytes, at)?;
                Ok(Bytes::from(bytes))
            });
            Ok(Some((part.await?, at + size)))
        }
    });
    let mut response = Response::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length.into());
    headers.insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/octet-stream"));
    response
}

fn page(status: StatusCode, body: &str) -> Response<Body> {
    let text = format!(
        "<!doctype html>\n<html lang=\"en\"><title>Calendar</title>\n<body>\n{body}\n</body></html>\n"
    );
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = axum::http::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Renders the page of an event. All texts of the tables consist of letters and digits, so nothing
/// has to be escaped.
fn event_page(id: u32, rows: &EventRows) -> String {
    let text = |row: &Row, at: usize| row.get::<_, String>(at);
    let event = &rows.event;
    let [title, summary, about, place, held, organiser] =
        [0, 1, 2, 3, 4, 5].map(|at| text(event, at));
    let mut page = format!(
        "<h1>{title}</h1>\n<p>{summary}</p>\n<p>{about}</p>\n<p>{held}, {place}</p>\n\
         <img src=\"/event/{id}/picture\"><a href=\"/event/{id}/document\">More</a>\n\
         <p>By {organiser}</p>\n<ul class=\"tags\">\n"
    );
    for tag in &rows.tags {
        let number: i32 = tag.get(0);
        let _ = writeln!(page, "<li><a href=\"/search?tag={number}\">{}</a>", text(tag, 1));
    }
    page += "</ul>\n<ul class=\"attendees\">\n";
    for person in &rows.attendees {
        let _ = writeln!(page, "<li>{}", text(person, 0));
    }
    page += "</ul>\n<dl class=\"comments\">\n";
    for comment in &rows.comments {
        let rating: i16 = comment.get(1);
        let (name, words) = (text(comment, 0), text(comment, 2));
        let _ = writeln!(page, "<dt>{name}, {rating} of 5<dd>{words}");
    }
    page + "</dl>"
}

fn found(tag: u32, rows: &[Row]) -> String {
    let mut page = format!("<h1>Events with tag {tag}</h1>\n<dl>\n");
    for row in rows {
        let (id, title, summary): (i32, String, String) = (row.get(0), row.get(1), row.get(2));
        let _ = writeln!(page, "<dt><a href=\"/event/{id}\">{title}</a><dd>{summary}");
    }
    page + "</dl>"
}
