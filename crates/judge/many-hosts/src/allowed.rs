use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use cluster::RemoteError;
use datastore::Target;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

/// Targets that may be written on a host, according to its owner's `agent.toml` and the options of
/// the agent. A controller cannot use any others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowed {
    /// Lists of allowed targets. A target must be in all of them.
    lists: Vec<AgentFile>,
}

/// Content of `agent.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentFile {
    /// Allowed directories (`dir:PATH`, with everything below them), files and block devices
    /// (`file:PATH`, `block:PATH`).
    #[serde(default)]
    pub allow: Vec<String>,
    /// True if a root, memory or overlay file system may be used when a run requests it.
    #[serde(default)]
    pub allow_root_fs: bool,
    /// Permission to record the I/O of all users.
    #[serde(default)]
    pub record: Option<Recordings>,
    /// Permission to read the store of `tilemark watch`.
    #[serde(default)]
    pub watch: Option<WatchStore>,
}

/// Watch store that a host's owner lets others read. It reveals the I/O of all users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WatchStore {
    /// False for none, true for the store in the usual directory.
    Is(bool),
    /// Store in this directory.
    At(PathBuf),
}

/// Recordings that a host's owner allows. They contain the I/O of all users, regardless of who
/// requests them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recordings {
    /// False for no recordings, true for recordings in the agent's own directory.
    Is(bool),
    /// Recordings in these directories. New ones go to the first.
    In(Vec<PathBuf>),
}

/// Path of the owner's `agent.toml`.
pub const AGENT_FILE: &str = "/etc/tilemark/agent.toml";

/// Reason why a target, or a list of allowed targets, is refused.
#[derive(Debug, thiserror::Error)]
pub enum AllowedError {
    /// The file is unreadable or invalid.
    #[error("{}: {why}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error in the file.
        why: String,
    },
    /// No list allows any target.
    #[error(
        "nothing may be written on this host: {AGENT_FILE} does not exist, and no --allow was \
        given"
    )]
    Nothing,
    /// The target is not allowed.
    #[error("{target} may not be used on this host; allowed: {allowed}")]
    Target {
        /// Target as requested.
        target: String,
        /// Allowed targets.
        allowed: String,
    },
    /// Recording is not allowed.
    #[error(
        "recording is not allowed on this host, because it shows the I/O of all users; the host's \
         owner can allow it by `record = true` or `record = [\"DIR\"]` in {AGENT_FILE}"
    )]
    Record,
    /// The watch store may not be read.
    #[error(
        "other hosts may not read this host's watch store, because it shows the I/O of all \
        users"
    )]
    Watch,
    /// The text is not a target.
    #[error("{0}")]
    NoTarget(String),
    /// The owner does not allow this file system.
    #[error(
        "a root, memory or overlay file system may not be used on this host (allow-root-fs is \
        off)"
    )]
    RootFs,
}

impl AllowedError {
    /// Returns a hint on what to do, if the text does not contain it.
    pub fn hint(&self) -> Option<String> {
        let hint = || {
            let usual = watch::STORE_DIRECTORY;
            format!(
                "the host's owner can allow it by a line `watch = true` (that is {usual}) or \
                 `watch = \"DIR\"` in {AGENT_FILE}"
            )
        };
        matches!(self, Self::Watch).then(hint)
    }
}

/// Allowed target. The directory for new files is held open from before the check until the end of
/// its use. Another user with write access there can replace a name by a link, but not an open
/// descriptor.
#[derive(Debug)]
pub struct Permitted {
    target: Target,
    /// Path at the time of the check, with all links resolved.
    path: PathBuf,
    held: Option<OwnedFd>,
}

impl Permitted {
    /// Returns the target with a path through the open directory's descriptor.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the path for display.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the target with its path for display.
    pub fn text(&self) -> String {
        format!("{}:{}", self.target.facts().word, self.path.display())
    }

    /// Replaces the path through the open descriptor in `text` by the path for display.
    pub fn named(&self, text: &str) -> String {
        let held = self.target.path().display().to_string();
        match self.held {
            Some(_) => text.replace(&held, &self.path.display().to_string()),
            None => text.to_owned(),
        }
    }

    /// Replaces the path through the open descriptor in an error by the path for display, both in
    /// the error's text and in its hint.
    pub(crate) fn named_error(&self, error: RemoteError) -> RemoteError {
        let hint = error.hint.map(|hint| self.named(&hint));
        RemoteError::new(self.named(&error.text)).with_hint(hint)
    }

    /// Opens the directory of a target, or the directory of a file that does not exist yet.
    fn hold(target: Target) -> Self {
        let given = target.path().to_owned();
        let unheld = |target, path| Self { target, path, held: None };
        let is_directory = target.facts().remembers_disks;
        // Agents do not make block devices, and their nodes are in a system directory.
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

/// Name of the kind of targets that are files.
const FILE: &str = "file";

impl Allowed {
    /// Reads the owner's file, if it exists, and adds the targets from the agent's options.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has an error. A file that is given by path must exist.
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
            if let Some(WatchStore::At(path)) = &list.watch
                && !path.is_absolute()
            {
                return Err(wrong(format!("watch: {} does not begin with /", path.display())));
            }
        }
        Ok(allowed)
    }

    /// Returns the directories for recordings. `base` is the agent's own directory.
    ///
    /// # Errors
    ///
    /// If the owner's file does not allow recordings.
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

    /// Returns the directory of the watch store that may be read.
    ///
    /// # Errors
    ///
    /// If the owner's file does not allow it.
    pub fn watched(&self) -> Result<PathBuf, AllowedError> {
        let mut found = None;
        for list in self.lists.iter().filter_map(|list| list.watch.as_ref()) {
            found = match list {
                WatchStore::Is(false) => return Err(AllowedError::Watch),
                WatchStore::Is(true) => found.or_else(|| Some(watch::STORE_DIRECTORY.into())),
                WatchStore::At(directory) => Some(directory.clone()),
            };
        }
        found.ok_or(AllowedError::Watch)
    }

    /// Returns the targets in any list.
    pub fn names(&self) -> Vec<String> {
        self.lists.iter().flat_map(|list| list.allow.iter().cloned()).collect()
    }

    /// Checks a target and holds it open.
    ///
    /// # Errors
    ///
    /// If the target is not allowed. The error lists the allowed targets.
    pub fn check(&self, target: &str, wants_root_fs: bool) -> Result<Permitted, AllowedError> {
        let parsed: Target =
            target.parse().map_err(|error| AllowedError::NoTarget(format!("{target}: {error}")))?;
        if self.names().is_empty() {
            return Err(AllowedError::Nothing);
        }
        // Opened first and checked afterwards: the other way round a link may be put between the
        // two.
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

/// Returns true if the allowed text names the target, or a directory above it, with all links
/// resolved.
fn covers(allowed: &str, permitted: &Permitted) -> bool {
    let Ok(allowed) = allowed.parse::<Target>() else { return false };
    let Permitted { target, path, held } = permitted;
    let is_kind = allowed.facts().noun == target.facts().noun;
    let real = |path: &Path| path.canonicalize().ok();
    if target.facts().remembers_disks {
        // Without a descriptor the real place is unknown.
        let inside = |allowed: PathBuf| path.starts_with(allowed);
        return is_kind && held.is_some() && real(allowed.path()).is_some_and(inside);
    }
    match (real(allowed.path()), real(path)) {
        (Some(allowed), Some(path)) => is_kind && path == allowed,
        // A file that does not exist yet is identified by its name in an existing directory.
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
    fn allowed_directory_covers_subdirectories_only() {
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

    /// Regression: a link that was created between check and creation succeeded in 1 of 90 attempts
    /// (seen at e6eaf978).
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
    fn watch_store_is_read_only_if_the_owners_file_says_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agent.toml");
        let of = |text: &str| {
            std::fs::write(&path, text).expect("written");
            Allowed::read(Some(&path), AgentFile::default()).expect("reads").watched()
        };
        for refused in ["", "watch = false", "record = true", "allow = [\"dir:/x\"]"] {
            let error = of(refused).expect_err(refused);
            assert!(error.hint().is_some_and(|hint| hint.contains("`watch = true`")), "{error}");
        }
        assert_eq!(of("watch = true").expect("allowed"), Path::new("/var/lib/tilemark/watch"));
        assert_eq!(of("watch = \"/srv/w\"").expect("allowed"), Path::new("/srv/w"));
        std::fs::write(&path, "watch = \"w\"").expect("written");
        assert!(Allowed::read(Some(&path), AgentFile::default()).is_err(), "no whole path");
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
