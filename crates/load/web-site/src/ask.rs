//! Requests that the site accepts.

use axum::http::{Method, StatusCode, Uri};

/// Maximum number of digits of a number in a request. A number of 18 digits fits into 64 bits.
const DIGITS_MAX: usize = 18;

/// Request that the site accepts. Its numbers may be beyond the existing ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Page of an event.
    Event(u64),
    /// A file of an event's page.
    File(u64, EventFile),
    /// Search for the events of a tag.
    Search(u64),
    /// Adds an event that a person created, with a tag.
    Add { person: u64, tag: u64 },
}

/// File that an event's page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventFile {
    Picture,
    Document,
    /// Picture of the person who created the event.
    Organiser,
}

impl Ask {
    /// Parses a request.
    ///
    /// # Errors
    /// The status of a refusal: 404 for an unknown path, 405 for another method, 400 for an invalid
    /// number.
    pub(crate) fn read(method: &Method, uri: &Uri) -> Result<Self, StatusCode> {
        let parts: Vec<&str> = uri.path().split('/').take(5).collect();
        let query = uri.query().unwrap_or_default();
        let (asked, wanted) = match parts[..] {
            ["", "event"] => (Self::add(query), Method::POST),
            ["", "event", event] => (number(event).map(Self::Event), Method::GET),
            ["", "event", event, file] => {
                let file = EventFile::read(file).ok_or(StatusCode::NOT_FOUND)?;
                (number(event).map(|event| Self::File(event, file)), Method::GET)
            }
            ["", "search"] => (field(query, "tag").map(Self::Search), Method::GET),
            _ => return Err(StatusCode::NOT_FOUND),
        };
        match *method == wanted {
            true => asked.ok_or(StatusCode::BAD_REQUEST),
            false => Err(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    fn add(query: &str) -> Option<Self> {
        Some(Self::Add { person: field(query, "person")?, tag: field(query, "tag")? })
    }
}

impl EventFile {
    fn read(text: &str) -> Option<Self> {
        match text {
            "picture" => Some(Self::Picture),
            "document" => Some(Self::Document),
            "organiser" => Some(Self::Organiser),
            _ => None,
        }
    }
}

fn field(query: &str, name: &str) -> Option<u64> {
    let fields = query.split('&').filter_map(|field| field.split_once('='));
    let mut own = fields.filter(|(key, _)| *key == name).map(|(_, value)| value);
    // A name that is there twice has no one value.
    own.next().filter(|_| own.next().is_none()).and_then(number)
}

fn number(text: &str) -> Option<u64> {
    let is_number = (1..=DIGITS_MAX).contains(&text.len());
    text.parse().ok().filter(|_| is_number && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Folds a number into the range of existing numbers, 1 to `newest`. Numbers outside this range are
/// folded into 1 to `made`, the numbers of the original data.
pub(crate) const fn folded(number: u64, made: u32, newest: u32) -> u32 {
    let is_there = number >= 1 && number <= newest as u64;
    #[expect(clippy::cast_possible_truncation, reason = "at most u32::MAX")]
    if is_there { number as u32 } else { 1 + (number % made as u64) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &Method, uri: &str) -> Result<Ask, u16> {
        let uri = uri.parse().expect("a path");
        Ask::read(method, &uri).map_err(|status| status.as_u16())
    }

    #[test]
    fn known_requests_are_read() {
        let get = |uri| read(&Method::GET, uri);
        assert_eq!(get("/event/17"), Ok(Ask::Event(17)));
        assert_eq!(get("/event/17?x=y"), Ok(Ask::Event(17)));
        assert_eq!(get("/event/0/picture"), Ok(Ask::File(0, EventFile::Picture)));
        assert_eq!(get("/event/1/document"), Ok(Ask::File(1, EventFile::Document)));
        assert_eq!(get("/event/1/organiser"), Ok(Ask::File(1, EventFile::Organiser)));
        assert_eq!(
            get("/search?a=b&tag=999999999999999999"),
            Ok(Ask::Search(u64::pow(10, 18) - 1))
        );
        let added = read(&Method::POST, "/event?tag=2&person=1");
        assert_eq!(added, Ok(Ask::Add { person: 1, tag: 2 }));
    }

    #[test]
    fn nonsense_is_refused() {
        for (method, uri, status) in [
            (Method::GET, "/", 404),
            (Method::GET, "//event/1", 404),
            (Method::GET, "/event/1/../2", 404),
            (Method::GET, "/event/1/picture/", 404),
            (Method::GET, "/event/1/thumbnail", 404),
            (Method::GET, "/event/%2e%2e/picture", 400),
            (Method::GET, "/event/../picture", 400),
            (Method::GET, "/event/-1", 400),
            (Method::GET, "/event/+1", 400),
            (Method::GET, "/event/", 400),
            (Method::GET, "/event/1000000000000000000", 400),
            (Method::GET, "/event/1'--", 400),
            (Method::GET, "/search", 400),
            (Method::GET, "/search?tag", 400),
            (Method::GET, "/search?tag=a", 400),
            (Method::GET, "/search?tag=1&tag=2", 400),
            (Method::GET, "/event?person=1&tag=2", 405),
            (Method::POST, "/event/1", 405),
            (Method::POST, "/event?person=1", 400),
            (Method::DELETE, "/event/1", 405),
        ] {
            assert_eq!(read(&method, uri), Err(status), "{method} {uri}");
        }
    }

    #[test]
    fn numbers_beyond_what_exists_are_folded() {
        let fold = |number| folded(number, 10, 12);
        assert_eq!((fold(1), fold(10), fold(12)), (1, 10, 12));
        assert_eq!((fold(0), fold(13), fold(1_000_000_009)), (1, 4, 10));
    }
}
