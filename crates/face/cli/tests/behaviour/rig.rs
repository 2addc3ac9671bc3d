//! Directory for a program, and control of the running program.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait: far more than anything takes on a busy computer.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Options that allow a run in the directory of the tests.
pub const ALLOW: [&str; 2] = ["--allow-root-fs", "--allow-same-device"];

/// Tile of one workload that leaves processors mostly idle. Without pauses the generator, not the
/// storage, would sometimes be the limit on a busy computer.
const TILE: &str = r#"
name = "light"
title = "Eight users who pause between 8 KiB reads and writes"
source = "Made up for tests."

[[workload]]
use = "light.toml"
"#;
const LIGHT: &str = r#"
name = "light"
title = "Eight users who pause between 8 KiB reads and writes"
source = "Made up for tests."

[metric]
unit = "IOPS"
count = "io"
# What eight users reach when an I/O takes no time.
reference = 2000

[[vm]]
name = "light"

[[vm.disk]]
name = "data"
size = "16GiB"

[[users]]
name = "users"
vm = "light"
load = { closed = { users = 8, think = { exponential = "4ms" } } }

[[action]]
name = "read"
weight = 70
steps = [{ read = { disk = "data", size = "8k" } }]

[[action]]
name = "write"
weight = 30
steps = [{ write = { disk = "data", size = "8k" } }]
"#;

/// Writes `arrivals.toml` and `arrivals-tile.toml`: reads that start at random, independent of
/// earlier ones, with a limit on `percentile` of them.
pub fn write_arrivals(place: &Workspace, rate: u32, percentile: u32, limit: &str) {
    let workload = format!(
        r#"
name = "arrivals"
title = "Reads that arrive at random"
source = "Made up for tests."
metric = {{ unit = "IOPS", count = "io", reference = {rate} }}
vm = [{{ name = "vm", disk = [{{ name = "data", size = "16GiB" }}] }}]
users = [{{ name = "users", vm = "vm", load = {{ open = {{ rate = "{rate}/s" }} }} }}]
action = [{{ name = "read", steps = [{{ read = {{ disk = "data", size = "8k" }} }}] }}]

[[limit]]
action = "read"
percentile = {percentile}
limit = "{limit}"
source = "Made up for tests."
"#
    );
    place.write("arrivals.toml", &workload);
    let tile = r#"
name = "arrivals"
title = "Reads that arrive at random"
source = "Made up for tests."
workload = [{ use = "arrivals.toml" }]
"#;
    place.write("arrivals-tile.toml", tile);
}

/// Settings of an NFS server, with one export.
pub fn ganesha(address: &str, export: &Path) -> String {
    let settings = include_str!("../../../../storage/over/src/ganesha.conf");
    let settings = settings.replace("@PROTOCOLS@", "3").replace("@ADDRESS@", address);
    settings.replace("@PATH@", &export.display().to_string())
}

/// A tile of one virtual machine that takes a second or two.
pub const MICRO: [&str; 15] = [
    "--tile",
    "tile.toml",
    "--tiles",
    "1",
    "--quick",
    "--footprint",
    "0.002",
    "--duration",
    "1s",
    "--warm-up-min",
    "200ms",
    "--warm-up-max",
    "400ms",
    "--slice",
    "100ms",
];

/// Options of a simulation of a few seconds of virtual time.
const BRIEF: [&str; 9] =
    ["--quick", "--duration", "5s", "--warm-up-min", "2s", "--warm-up-max", "4s", "--seed", "7"];

/// Datastore and directory of results, both empty and removed at the end.
pub struct Workspace {
    root: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        for name in ["ds", "runs"] {
            std::fs::create_dir(root.path().join(name)).expect("a directory in it");
        }
        let place = Self { root };
        place.write("tile.toml", TILE);
        place.write("light.toml", LIGHT);
        place
    }

    /// Place that a run may use; `None`, with the reason printed, if there is too little space.
    pub fn usable() -> Option<Self> {
        let place = Self::new();
        let checked = place.output(&[&["check", "ds"][..], &ALLOW, &MICRO].concat());
        if checked.status.success() {
            return Some(place);
        }
        assert_eq!(checked.status.code(), Some(3), "not refused: {}", err(&checked));
        eprintln!("skipped: this directory cannot be a datastore:\n{}", out(&checked));
        None
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// The program, without variables of the tester's environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tilemark"));
        command.args(args).current_dir(self.root.path()).stdin(Stdio::null());
        self.surroundings(&mut command);
        command
    }

    /// Sets the program's environment.
    pub fn surroundings(&self, command: &mut Command) {
        for name in ["TILEMARK_SEED", "TILEMARK_LIVE", "TILEMARK_COLOR", "NO_COLOR", "CI"] {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command.env("TILEMARK_RUNS", self.path("runs")).env("COLUMNS", "100").env("TERM", "xterm");
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    /// Command that runs a small tile; `more` overrides its options.
    pub fn run_command(&self, more: &[&str]) -> Command {
        self.command(&run_words(more))
    }

    /// Runs a tile on the datastore and expects an exit code.
    pub fn run(&self, code: i32, more: &[&str]) -> Output {
        let output = self.run_command(more).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(code), "{}{}", out(&output), err(&output));
        output
    }

    /// Starts a run that takes a minute unless stopped.
    pub fn start(&self, more: &[&str]) -> Running {
        let long = ["--duration", "60s", "--live", "line"];
        Running::new(self.run_command(&[&long[..], more].concat()))
    }

    /// Starts such a run on another datastore.
    pub fn start_on(&self, datastore: &str, more: &[&str]) -> Running {
        let long = ["--duration", "60s", "--live", "line"];
        let more = [&long[..], more].concat();
        let mut words = run_words(&more);
        words[1] = datastore;
        Running::new(self.command(&words))
    }

    /// Names in a directory.
    pub fn names(&self, directory: &str) -> Vec<String> {
        names(&self.path(directory))
    }

    /// Paths of the run directories, oldest first.
    pub fn runs(&self) -> Vec<PathBuf> {
        let mut names = self.names("runs");
        names.sort();
        names.iter().map(|name| self.path("runs").join(name)).collect()
    }
}

/// Arguments that run a small tile on the datastore.
pub fn run_words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "ds"][..], &ALLOW, &overridden(&MICRO, more)[..]].concat()
}

/// Arguments that simulate some tiles for a few seconds; `more` overrides them.
pub fn simulate_words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["simulate"][..], &overridden(&BRIEF, more)[..]].concat()
}

/// Options without those that `more` repeats, then `more`.
fn overridden<'a>(options: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut options = options.iter().copied().peekable();
    while let Some(option) = options.next() {
        let value = options.next_if(|word| !word.starts_with("--"));
        if !more.contains(&option) {
            words.extend([Some(option), value].into_iter().flatten());
        }
    }
    words.extend(more);
    words
}

pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect()
}

/// Private directories of a kind (`mail`, `over`) that a process made in `/tmp`.
pub fn homes_of(kind: &str, process: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten();
    let is_own = |path: &PathBuf| {
        let marker = std::fs::read_to_string(path.join("owner.json")).unwrap_or_default();
        path.display().to_string().contains(&format!("/tilemark-{kind}-"))
            && marker.contains(&format!("\"pid\": {process},"))
    };
    entries.map(|entry| entry.path()).filter(is_own).collect()
}

pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Running program whose stderr is read continuously.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// Ended program.
pub struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stderr: String,
    /// All of stdout, unless it was closed.
    pub stdout: String,
}

impl Running {
    pub fn new(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (sender, lines) = channel();
        let stderr = child.stderr.take().expect("it is piped");
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, seen: Vec::new() }
    }

    /// Waits for a line on stderr that contains a text.
    pub fn wait_for(&mut self, text: &str) {
        let begun = Instant::now();
        loop {
            let left = DEADLINE.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    let is_it = line.contains(text);
                    self.seen.push(line);
                    if is_it {
                        return;
                    }
                }
                Err(error) => {
                    panic!("no line with \"{text}\" ({error}) in:\n{}", self.seen.join("\n"))
                }
            }
        }
    }

    /// First line of its stdout, which is closed then.
    #[cfg(feature = "hosts")]
    pub fn stdout_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Last line seen.
    pub fn seen_last(&self) -> String {
        self.seen.last().cloned().unwrap_or_default()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// True if the program has not ended.
    pub fn is_going(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        let pid = Pid::from_raw(pid).expect("not 0");
        // The program may have ended by itself, which the later checks see.
        let _ = kill_process(pid, signal);
    }

    /// Closes the reading end of its stdout.
    pub fn close_stdout(&mut self) {
        self.child.stdout.take();
    }

    /// Stops reading its stderr.
    pub fn close_stderr(&mut self) {
        self.lines = channel().1;
    }

    /// Waits for the end, at most until the deadline.
    pub fn end(mut self) -> Ended {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(DEADLINE.saturating_sub(begun.elapsed())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.seen.join("\n"))
                }
            }
        }
        let mut stdout = String::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_string(&mut stdout).expect("text on stdout");
        }
        while self.child.try_wait().expect("it is our child").is_none() {
            assert!(begun.elapsed() < DEADLINE, "it does not end");
            std::thread::yield_now();
        }
        let status = self.child.wait().expect("it is our child");
        Ended { code: status.code(), stderr: self.seen.join("\n"), stdout }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
