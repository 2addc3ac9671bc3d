use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use cluster::RemoteError;
use datastore::Target;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

/// What may be written on a host, by the word of its owner: `agent.toml`, and what whoever
/// started the agent allowed. A controller can ask for nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowed {
    /// Each list allows by itself; what is used must be in all of them.
    lists: Vec<AgentFile>,
}

/// `agent.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentFile {
    /// Directories (`dir:PATH`, with all below them), files and block devices (`file:PATH`,
    /// `block:PATH`).
    #[serde(default)]
    pub allow: Vec<String>,
    /// Whether a root, memory or overlay file system may be used if a run asks for it.
    #[serde(default)]
    pub allow_root_fs: bool,
    /// Whether, or where, what everybody's I/O is may be recorded.
    #[serde(default)]
    pub record: Option<Recordings>,
}

/// Recordings that a host's owner allows: everybody's I/O is in them, whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recordings {
    /// None, or to where an agent keeps what it needs.
    Is(bool),
    /// To these directories; new ones to the first.
    In(Vec<PathBuf>),
}

/// Where the owner's file is looked for.
pub const AGENT_FILE: &str = "/etc/tilemark/agent.toml";

/// Why a target, or a file of what is allowed, is refused.
#[derive(Debug, thiserror::Error)]
pub enum AllowedError {
    /// The file.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody allowed anything.
    #[error("nothing may be written here: {AGENT_FILE} is not there, and no --allow was given")]
    Nothing,
    /// The target is not among what is allowed.
    #[error("{target} may not be used here; allowed: {allowed}")]
    Target {
        /// As asked for.
        target: String,
        /// What is.
        allowed: String,
    },
    /// Its I/O may not be recorded.
    #[error(
        "recording is not allowed here, because it sees everybody's I/O; its owner allows it by \
         `record = true` or `record = [\"DIR\"]` in {AGENT_FILE}"
    )]
    Record,
    /// It is no target.
    #[error("{0}")]
    NoTarget(String),
    /// The owner does not allow it.
    #[error("a root, memory or overlay file system may not be used here (allow-root-fs is off)")]
    RootFs,
}

/// A target that may be used. The directory in which anything is made is held open from before the
/// check to the end of its use: whoever may write around it can put a link in the place of a name, and
/// not in the place of a descriptor.
#[derive(Debug)]
pub struct Permitted {
    target: Target,
    /// Where it was when it was checked, after every link.
    path: PathBuf,
    held: Option<OwnedFd>,
}

impl Permitted {
    /// The target, by a path that leads through the held directory.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Where it is, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The target by the path that people know.
    pub fn text(&self) -> String {
        format!("{}:{}", self.target.facts().word, self.path.display())
    }

    /// A text in which the target has the name that people know.
    pub fn named(&self, text: &str) -> String {
        let held = self.target.path().display().to_string();
        match self.held {
            Some(_) => text.replace(&held, &self.path.display().to_string()),
            None => text.to_owned(),
        }
    }

    /// The same of an error, in its text and in its hint.
    pub(crate) fn named_error(&self, error: RemoteError) -> RemoteError {
        let hint = error.hint.map(|hint| self.named(&hint));
        RemoteError::new(self.named(&error.text)).with_hint(hint)
    }

    /// Holds what a target names, or the directory of a file that is not there yet.
    fn hold(target: Target) -> Self {
        let given = target.path().to_owned();
        let unheld = |target, path| Self { target, path, held: None };
        let is_directory = target.facts().remembers_disks;
        // A block device is made by nobody here, and its node is in a directory of the system's.
        if !is_directory && target.facts().word != FILE {
            let path = given.canonicalize().unwrap_or(given);
            return unheld(target, path);
        }
        let name = if is_directory { None } else { given.file_name() };
        let directory = match name {
            None => given.as_path(),
            Some(_) => {
                given.parent().filter(|at| !at.as_os_str().is_empty()).unwrap_or(Path::new("."))
            }
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(held) = rustix::fs::open(directory, flags, Mode::empty()) else {
            return unheld(target, given);
        };
        let at = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let real = std::fs::read_link(&at);
        let below = |path: PathBuf| match name {
            Some(name) => path.join(name),
            None => path,
        };
        let through = format!("{}:{}", target.facts().word, below(at).display()).parse();
        match (real, through) {
            (Ok(real), Ok(target)) => Self { target, path: below(real), held: Some(held) },
            _ => unheld(target, given),
        }
    }
}

/// The word of targets that are a file.
const FILE: &str = "file";

impl Allowed {
    /// What the owner's file allows, if there is one, and of that what whoever started the agent named.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or has a mistake. One that was named must be there.
    pub fn read(file: Option<&Path>, named: AgentFile) -> Result<Self, AllowedError> {
        let path = file.unwrap_or(Path::new(AGENT_FILE));
        let wrong = |why: String| AllowedError::File { path: path.to_owned(), why };
        let mut lists = match std::fs::read_to_string(path) {
            Ok(text) => vec![toml::from_str(&text).map_err(|error| wrong(error.to_string()))?],
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                Vec::new()
            }
            Err(error) => return Err(wrong(error.to_string())),
        };
        if !named.allow.is_empty() || lists.is_empty() {
            lists.push(named);
        }
        let allowed = Self { lists };
        for text in allowed.lists.iter().flat_map(|list| &list.allow) {
            text.parse::<Target>().map_err(|error| wrong(format!("{text}: {error}")))?;
        }
        for list in &allowed.lists {
            if let Some(Recordings::In(directories)) = &list.record
                && let Some(path) = directories.iter().find(|path| !path.is_absolute())
            {
                return Err(wrong(format!("record: {} does not begin with /", path.display())));
            }
        }
        Ok(allowed)
    }

    /// Directories for recordings; `base` is the agent's own.
    ///
    /// # Errors
    ///
    /// Unless the owner's file allows them.
    pub fn recordings(&self, base: &Path) -> Result<Vec<PathBuf>, AllowedError> {
        let mut found = None;
        for list in self.lists.iter().filter_map(|list| list.record.as_ref()) {
            found = match list {
                Recordings::Is(false) => return Err(AllowedError::Record),
                Recordings::Is(true) => found.or_else(|| Some(vec![base.to_owned()])),
                Recordings::In(directories) => Some(directories.clone()),
            };
        }
        found.filter(|directories| !directories.is_empty()).ok_or(AllowedError::Record)
    }

    /// Every target that some list names.
    pub fn names(&self) -> Vec<String> {
        self.lists.iter().flat_map(|list| list.allow.iter().cloned()).collect()
    }

    /// This target, held open, if it may be used.
    ///
    /// # Errors
    ///
    /// When it may not, with what may.
    pub fn check(&self, target: &str, wants_root_fs: bool) -> Result<Permitted, AllowedError> {
        let parsed: Target =
            target.parse().map_err(|error| AllowedError::NoTarget(format!("{target}: {error}")))?;
        if self.names().is_empty() {
            return Err(AllowedError::Nothing);
        }
        // Held first and looked at then: the other way round a link may come between the two.
        let permitted = Permitted::hold(parsed);
        let is_in = |list: &AgentFile| list.allow.iter().any(|text| covers(text, &permitted));
        if !self.lists.iter().all(is_in) {
            let allowed = self.names().join(", ");
            return Err(AllowedError::Target { target: target.to_owned(), allowed });
        }
        if wants_root_fs && !self.lists.iter().all(|list| list.allow_root_fs) {
            return Err(AllowedError::RootFs);
        }
        Ok(permitted)
    }
}

/// Whether what this text allows is, or holds, the target: after every link on the way.
fn covers(allowed: &str, permitted: &Permitted) -> bool {
    let Ok(allowed) = allowed.parse::<Target>() else { return false };
    let Permitted { target, path, held } = permitted;
    let is_kind = allowed.facts().noun == target.facts().noun;
    let real = |path: &Path| path.canonicalize().ok();
    if target.facts().remembers_disks {
        // Without a descriptor nothing is known of where it is.
        let inside = |allowed: PathBuf| path.starts_with(allowed);
        return is_kind && held.is_some() && real(allowed.path()).is_some_and(inside);
    }
    match (real(allowed.path()), real(path)) {
        (Some(allowed), Some(path)) => is_kind && path == allowed,
        // A file that is not there yet is what its name says in a directory that is.
        (None, None) if is_kind => {
            let place = |path: &Path| Some((real(path.parent()?)?, path.file_name()?.to_owned()));
            let asked = place(path);
            asked.is_some() && asked == place(allowed.path())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(allow: &[String]) -> AgentFile {
        AgentFile { allow: allow.to_vec(), ..AgentFile::default() }
    }

    #[test]
    fn a_directory_is_allowed_with_what_is_below_and_nothing_beside_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        for name in ["in", "in/deep", "into", "out"] {
            std::fs::create_dir(path(name)).expect("made");
        }
        std::os::unix::fs::symlink(path("out"), path("in/link")).expect("a link");
        let target = |name: &str| format!("dir:{}", path(name).display());
        let allowed = Allowed { lists: vec![file(&[target("in")])] };
        for good in ["in", "in/deep", "in/deep/.."] {
            allowed.check(&target(good), false).expect(good);
        }
        for bad in ["out", "into", "in/..", "in/link", "in/none"] {
            let error = allowed.check(&target(bad), false).expect_err(bad);
            assert!(matches!(error, AllowedError::Target { .. }), "{error}");
        }
        let as_file = format!("file:{}", path("in/deep").display());
        assert!(allowed.check(&as_file, false).is_err(), "a file in it is something else");
        let root = allowed.check(&target("in"), true).expect_err("not allowed");
        assert!(matches!(root, AllowedError::RootFs));
    }

    /// Seen at e6eaf978: a link that came between check and creation won 1 of 90 times.
    #[test]
    fn link_planted_after_the_check_leads_nowhere() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        for name in ["in", "in/deep", "theirs"] {
            std::fs::create_dir(path(name)).expect("made");
        }
        let target = |kind: &str, name: &str| format!("{kind}:{}", path(name).display());
        let lists = vec![file(&[target("dir", "in"), target("file", "in/deep/new")])];
        let allowed = Allowed { lists };
        let deep = allowed.check(&target("dir", "in/deep"), false).expect("allowed");
        let new = allowed.check(&target("file", "in/deep/new"), false).expect("allowed");
        std::fs::rename(path("in/deep"), path("in/away")).expect("renamed");
        std::os::unix::fs::symlink(path("theirs"), path("in/deep")).expect("a link");
        std::fs::create_dir(deep.target().path().join("made")).expect("makes");
        std::fs::write(new.target().path(), "made").expect("writes");
        assert_eq!(std::fs::read_dir(path("theirs")).expect("lists").count(), 0);
        assert!(path("in/away/made").is_dir() && path("in/away/new").is_file());
        assert!(deep.path().ends_with("in/deep"), "as people know it");
        let text = format!("in {}: gone", deep.target().path().display());
        assert_eq!(deep.named(&text), format!("in {}: gone", deep.path().display()));
        let again = allowed.check(&target("dir", "in/deep"), false);
        assert!(again.is_err(), "the link leads out");
    }

    #[test]
    fn an_owners_file_is_never_widened_by_who_starts_the_agent() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = |name: &str| format!("dir:{}", dir.path().join(name).display());
        for name in ["a", "b"] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
        }
        let path = dir.path().join("agent.toml");
        std::fs::write(&path, format!("allow = [{:?}]\n", target("a"))).expect("written");
        let named = |name: &str| AgentFile { allow_root_fs: true, ..file(&[target(name)]) };
        let both = Allowed::read(Some(&path), named("b")).expect("reads");
        assert!(both.check(&target("a"), false).is_err(), "whoever started it named b alone");
        assert!(both.check(&target("b"), false).is_err(), "the owner named a alone");
        let same = Allowed::read(Some(&path), named("a")).expect("reads");
        same.check(&target("a"), false).expect("both name it");
        assert!(same.check(&target("a"), true).is_err(), "the owner did not allow it");
        let own = Allowed::read(Some(&path), AgentFile::default()).expect("reads");
        own.check(&target("a"), false).expect("the owner's file is enough");
    }

    #[test]
    fn nothing_is_recorded_unless_the_owners_file_says_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, base) = (dir.path().join("agent.toml"), Path::new("/base"));
        let of = |text: &str| {
            std::fs::write(&path, text).expect("written");
            Allowed::read(Some(&path), file(&["dir:/x".to_owned()]))
                .expect("reads")
                .recordings(base)
        };
        for refused in ["", "record = false", "record = []", "allow = [\"dir:/x\"]"] {
            assert!(matches!(of(refused), Err(AllowedError::Record)), "{refused}");
        }
        assert_eq!(of("record = true").expect("allowed"), [base]);
        assert_eq!(
            of("record = [\"/a\", \"/b\"]").expect("allowed"),
            [Path::new("/a"), Path::new("/b")]
        );
        std::fs::write(&path, "record = [\"a\"]").expect("written");
        assert!(
            Allowed::read(Some(&path), AgentFile::default()).is_err(),
            "from where is not known"
        );
    }

    #[test]
    fn a_file_with_a_mistake_and_one_that_is_not_there_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agent.toml");
        assert!(Allowed::read(Some(&path), AgentFile::default()).is_err(), "not there");
        for wrong in ["allowed = []", "allow = [\"nfs:/x\"]", "allow = 3"] {
            std::fs::write(&path, wrong).expect("written");
            assert!(Allowed::read(Some(&path), AgentFile::default()).is_err(), "{wrong}");
        }
        let none = Allowed { lists: vec![AgentFile::default()] };
        assert!(matches!(none.check("dir:/tmp", false), Err(AllowedError::Nothing)));
    }
}
