use std::fmt;
use std::str::FromStr;

/// Prefix of an export's name.
const WORD: &str = "nfs:";
/// Maximum length of an export's path, in bytes (RFC 1813, 5.1.1, `MNTPATHLEN`).
const PATH_MAX: usize = 1024;

/// Name of an export: `nfs:SERVER:/PATH[,port=PORT][,mount-port=PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Name or address of the server, without brackets.
    pub server: String,
    /// Path of the export, or of a directory in it.
    pub path: String,
    /// Port of NFS; `None` to ask the portmapper.
    pub port: Option<u16>,
    /// Port of the mount service; `None` to ask the portmapper.
    pub mount_port: Option<u16>,
}

/// Reason why a text is not a valid name of an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not an NFS export: {why}; write nfs:SERVER:/EXPORT")]
pub struct ExportError {
    /// Text as given by the user.
    pub text: String,
    /// Error in the text.
    pub why: &'static str,
}

impl Export {
    /// Returns true if a text has the prefix of an export's name.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(WORD)
    }
}

impl FromStr for Export {
    type Err = ExportError;

    fn from_str(text: &str) -> Result<Self, ExportError> {
        let wrong = |why| ExportError { text: text.to_owned(), why };
        let rest = text.strip_prefix(WORD).ok_or_else(|| wrong("it does not begin with nfs:"))?;
        let (server, rest) = match rest.strip_prefix('[') {
            Some(inner) => {
                inner.split_once("]:").ok_or_else(|| wrong("a bracket is not closed"))?
            }
            None => rest.split_once(':').ok_or_else(|| wrong("it has no path"))?,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if server.is_empty() || !server.chars().all(plain) {
            return Err(wrong("its server is neither a name nor an address"));
        }
        let mut parts = rest.split(',');
        let path = parts.next().unwrap_or_default();
        if !path.starts_with('/') || path.len() > PATH_MAX || path.contains(char::is_control) {
            return Err(wrong(
                "its path does not begin with /, is too long or has control characters",
            ));
        }
        if path.split('/').any(|part| part == ".." || part == ".") {
            return Err(wrong("its path has . or .. in it"));
        }
        let mut export =
            Self { server: server.to_owned(), path: path.to_owned(), port: None, mount_port: None };
        for part in parts {
            let place = match part.split_once('=') {
                Some(("port", _)) => &mut export.port,
                Some(("mount-port", _)) => &mut export.mount_port,
                _ => return Err(wrong("after a comma only port= and mount-port= are allowed")),
            };
            let number = part.split_once('=').and_then(|(_, own)| own.parse().ok());
            let number = number.filter(|own| *own != 0);
            *place = Some(number.ok_or_else(|| wrong("a port is a number from 1 to 65535"))?);
        }
        Ok(export)
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, path, .. } = self;
        if server.contains(':') {
            write!(f, "{WORD}[{server}]:{path}")?;
        } else {
            write!(f, "{WORD}{server}:{path}")?;
        }
        self.port.map_or(Ok(()), |port| write!(f, ",port={port}"))?;
        self.mount_port.map_or(Ok(()), |port| write!(f, ",mount-port={port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for text in [
            "nfs:filer:/vol/a b",
            "nfs:10.0.0.1:/",
            "nfs:[fe80::1%eth0]:/x",
            "nfs:filer:/x,port=2049,mount-port=20048",
        ] {
            assert_eq!(text.parse::<Export>().map(|own| own.to_string()).as_deref(), Ok(text));
        }
        let export: Export = "nfs:[::1]:/x,mount-port=7".parse().expect("an export");
        assert_eq!((export.server.as_str(), export.mount_port), ("::1", Some(7)));
    }

    #[test]
    fn what_is_no_export_is_told_why() {
        for (text, why) in [
            ("filer:/x", "begin with nfs:"),
            ("nfs:/x", "no path"),
            ("nfs:filer", "no path"),
            ("nfs::/x", "server"),
            ("nfs:a b:/x", "server"),
            ("nfs:[::1:/x", "bracket"),
            ("nfs:filer:x", "begin with /"),
            ("nfs:filer:/a/../b", ".."),
            ("nfs:filer:/x,vers=4", "only port="),
            ("nfs:filer:/x,port=0", "1 to 65535"),
            ("nfs:filer:/x,port=65536", "1 to 65535"),
            ("nfs:filer:/x\ny", "control"),
        ] {
            let error = text.parse::<Export>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
