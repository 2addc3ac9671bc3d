use std::path::{Path, PathBuf};

use crate::error::SpecError;
use crate::load::read;
use crate::nearest::nearest;
use crate::shipped;

/// Base folder of the files that a study names by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Directory `data/studies/`, as embedded when the program was built.
    Shipped,
    /// A directory of the file system.
    Directory(PathBuf),
}

/// File with its text and its name for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Name by which a user finds the file.
    pub name: String,
    /// Unchanged text of the file.
    pub text: String,
}

impl Folder {
    /// Reads a file, given by its path from this folder.
    pub(super) fn read(&self, path: &str, what: &'static str) -> Result<File, SpecError> {
        match self {
            Self::Directory(folder) => {
                let path = folder.join(path);
                let text = read(&path, what)?;
                Ok(File { name: path.display().to_string(), text })
            }
            Self::Shipped => {
                let name = plain(path);
                let file = shipped::study_files().iter().find(|file| file.name == name);
                let file = file.ok_or_else(|| not_there(what, path))?;
                Ok(File { name: format!("studies/{name}"), text: file.text.to_owned() })
            }
        }
    }
}

/// Returns the error for a file that is not among the shipped ones. There are too many files to
/// list all of them.
fn not_there(what: &'static str, path: &str) -> SpecError {
    let known = shipped::study_files().iter().map(|file| file.name);
    let near = nearest(path, known.filter(|name| name.contains('/')));
    let near = near.map_or_else(String::new, |name| format!("did you mean \"{name}\"? "));
    let help = format!("{near}the folder of the shipped studies was searched");
    SpecError::NotShipped { what, name: path.to_owned(), help }
}

/// Returns the path from the folder for a `path` that is relative to `file`.
pub(super) fn beside(file: &str, path: &str) -> String {
    let folder = Path::new(file).parent().unwrap_or_else(|| Path::new(""));
    folder.join(path).to_string_lossy().into_owned()
}

/// Removes `.` and `folder/..` from a path.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_up_and_down_inside_the_folder() {
        assert_eq!(
            plain(&beside("tiles/fast.toml", "../workloads/mail.toml")),
            "workloads/mail.toml"
        );
        assert_eq!(plain("./a/./b.toml"), "a/b.toml");
        assert_eq!(plain("../a.toml"), "../a.toml");
    }
}
