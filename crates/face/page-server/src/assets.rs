//! Files of the page, built into the program.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;

/// Files of the page by URL path, compressed (gzip).
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
/// Report page without its data, compressed (gzip).
static REPORT: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/report.rs"));
/// Page that is shown if the program was built without the page.
const WITHOUT: &str = include_str!("without_page.html");

/// File of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// URL path, such as `/index.html`.
    pub path: &'static str,
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Packed(&'static [u8]),
    Plain(&'static [u8]),
}

impl Asset {
    /// Finds the file at a path.
    pub fn find(path: &str) -> Option<Self> {
        let (path, packed) = FILES.iter().find(|(known, _)| *known == path)?;
        Some(Self { path, content: Content::Packed(packed) })
    }

    /// Returns the start file, which is served for every path of the page. The page's script
    /// evaluates the path.
    pub fn index() -> Self {
        Self::find("/index.html")
            .unwrap_or(Self { path: "/index.html", content: Content::Plain(WITHOUT.as_bytes()) })
    }

    /// Returns the content as gzip, if it is stored as gzip.
    pub fn packed(&self) -> Option<&'static [u8]> {
        match self.content {
            Content::Packed(bytes) => Some(bytes),
            Content::Plain(_) => None,
        }
    }

    /// Returns the uncompressed content of the file.
    pub fn plain(&self) -> Cow<'static, [u8]> {
        match self.content {
            Content::Packed(bytes) => Cow::Owned(unpack(bytes)),
            Content::Plain(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// Returns true if the name contains a hash of the content, so that the file never changes.
    pub fn is_hashed(&self) -> bool {
        self.path.starts_with("/assets/")
    }

    /// Returns the media type of the file.
    pub fn media_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map_or("", |(_, end)| end) {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/x-icon",
            "json" | "map" => "application/json",
            "woff2" => "font/woff2",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

/// Returns the report page without its data; `None` if the program was built without it.
pub fn report_template() -> Option<String> {
    REPORT.and_then(|packed| String::from_utf8(unpack(packed)).ok())
}

/// Returns true if the page was built in.
pub fn has_page() -> bool {
    !FILES.is_empty()
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("the file was packed at build time");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_something_to_show_and_every_file_unpacks() {
        let index = Asset::index().plain();
        assert!(String::from_utf8_lossy(&index).to_ascii_lowercase().contains("<html"));
        for (path, _) in FILES {
            let asset = Asset::find(path).expect("it is listed");
            assert_ne!(asset.media_type(), "application/octet-stream", "{path}");
            assert!(!asset.plain().is_empty(), "{path}");
        }
    }
}
