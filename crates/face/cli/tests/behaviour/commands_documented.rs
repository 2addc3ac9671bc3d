//! Commands of the documentation. Each stands in a fenced block whose first line tells how it is
//! tested:
//!
//! - `sh try`: the whole block runs;
//! - `text try`: the lines after a prompt (`$`, `#`) run; printed lines between are not compared;
//! - `sh not run: REASON`, `text not run: REASON`: the block needs something that a test lacks.
//!
//! Subcommands and options of all blocks, and of commands in the text, are looked up in the
//! program's help.
//!
//! A block runs in a separate directory, with small and short runs. The directories of `STAND_INS`
//! are replaced by one that a run may use, `ssh HOST` runs its command here, and the files of
//! `FOUND` exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::documented::{BESIDE, documents, pages};
use crate::rig::{Workspace, err, out};

/// Directories of the documentation that are the datastore of a test.
const STAND_INS: [&str; 8] = [
    "/mnt/pve/cephfs/tilemark",
    "/mnt/pve/shared",
    "/mnt/datastore",
    "/mnt/ssd",
    "/mnt/new",
    "/dev/shm/ds",
    "/var/lib/libvirt/images",
    "/tank/tilemark",
];

/// Variables that make the runs of the documentation small and short.
pub(crate) const BRIEF: [(&str, &str); 9] = [
    ("TILEMARK_ALLOW_ROOT_FS", "1"),
    ("TILEMARK_ALLOW_SAME_DEVICE", "1"),
    ("TILEMARK_TILES", "1"),
    ("TILEMARK_REPEATS", "1"),
    ("TILEMARK_FOOTPRINT", "0.0005"),
    ("TILEMARK_DURATION", "1s"),
    ("TILEMARK_WARM_UP_MIN", "200ms"),
    ("TILEMARK_WARM_UP_MAX", "400ms"),
    ("TILEMARK_SLICE", "100ms"),
];

/// A step of a second may be disturbed (5), and a model or trace of a second may hold no step (4):
/// neither is tested here. Subcommands that read no variables get short options after the
/// subcommand.
pub(crate) const LENIENT: &str = r#"tilemark() {
    verb=$1; shift
    case "$verb $*" in
    "simulate "*) set -- --footprint 0.001 --duration 1s --warm-up-min 200ms --warm-up-max 400ms --slice 100ms "$@" ;;
    "replay "*--allow-root-fs*) set -- --allow-same-device --repeats 1 "$@" ;;
    "replay "*--on*) set -- --allow-same-device --allow-root-fs --repeats 1 "$@" ;;
    esac
    command tilemark "$verb" "$@" || {
        code=$?
        case "$code$verb" in 5* | 4simulate | 4replay) ;; *) return $code ;; esac
    }
}
"#;

/// `ssh -T -o BatchMode=yes -- HOST COMMAND`, on this host.
const SSH: &str = r#"#!/bin/sh
[ "$1" != -G ] || { echo "hostname 127.0.0.1"; exit; }
while [ "$1" != -- ]; do shift; done
export TILEMARK_AGENT_SLOT="$PWD-$2"
exec sh -c "$3"
"#;

/// A fenced block of a page.
struct Block {
    /// The page and the line it begins at.
    place: String,
    /// Text after the three backquotes.
    info: String,
    lines: Vec<String>,
}

impl Block {
    fn is_tried(&self) -> bool {
        self.info.ends_with(" try")
    }

    fn reason(&self) -> Option<&str> {
        self.info.split_once(" not run: ").map(|(_, reason)| reason).filter(|own| !own.is_empty())
    }

    /// Typed lines: all of a script, or the lines after a prompt.
    fn script(&self) -> Vec<&str> {
        let is_script = self.info == "sh" || self.info.starts_with("sh ");
        let is_text = self.info == "text" || self.info.starts_with("text ");
        let typed = |line: &str| is_text && (line.starts_with("$ ") || line.starts_with("# "));
        let all = self.lines.iter().map(String::as_str);
        if is_script {
            return all.collect();
        }
        all.filter(|line| typed(line)).map(|line| &line[2..]).collect()
    }

    /// Commands of this program in the block, each on one line.
    fn commands(&self) -> Vec<String> {
        let joined = self.script().join("\n").replace("\\\n", " ");
        let ours = |line: &&str| {
            let line = line.trim_start();
            line.strip_prefix("sudo ").unwrap_or(line).starts_with("tilemark ")
        };
        joined.lines().filter(ours).map(str::to_owned).collect()
    }
}

/// Blocks of all pages, and the lines that stand in none.
fn read_all() -> (Vec<Block>, Vec<(String, String)>) {
    let root = documents();
    let mut all = Vec::new();
    pages(&root, &mut all);
    all.extend(BESIDE.map(|name| root.join("..").join(name)));
    all.sort();
    let (mut blocks, mut text) = (Vec::new(), Vec::new());
    for page in all {
        read(&page, &mut blocks, &mut text);
    }
    (blocks, text)
}

fn read(page: &Path, blocks: &mut Vec<Block>, text: &mut Vec<(String, String)>) {
    let content = std::fs::read_to_string(page).expect("a page");
    let mut open: Option<(usize, Block)> = None;
    for (at, line) in (1..).zip(content.lines()) {
        let plain = line.trim_start();
        let place = format!("{}:{at}", page.display());
        match &mut open {
            None => match plain.strip_prefix("```") {
                Some(info) => {
                    let block = Block { place, info: info.to_owned(), lines: Vec::new() };
                    open = Some((line.len() - plain.len(), block));
                }
                None => text.push((place, line.to_owned())),
            },
            Some(_) if plain == "```" => blocks.extend(open.take().map(|(_, block)| block)),
            Some((indent, block)) => {
                block.lines.push(line.get(*indent..).unwrap_or_default().to_owned());
            }
        }
    }
    assert!(open.is_none(), "{}: a block has no end", page.display());
}

#[test]
fn every_block_of_commands_is_tried_or_says_why_not() {
    let (blocks, text) = read_all();
    let mut wrong = Vec::new();
    for block in blocks.iter().filter(|block| !block.script().is_empty()) {
        if !block.is_tried() && block.reason().is_none() {
            wrong.push(format!("{}: `{}` is neither", block.place, block.info));
        }
    }
    // An indented command has no mark that tells how to test it.
    let is_loose = |line: &str| {
        let command = line.strip_prefix("    ").map(str::trim_start).unwrap_or_default();
        ["$ ", "# ", "sudo ", "tilemark ", "make "].iter().any(|own| command.starts_with(own))
    };
    let loose = text.iter().filter(|(_, line)| is_loose(line));
    wrong.extend(loose.map(|(place, line)| format!("{place}: in no fenced block: {line}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_that_is_marked_works() {
    let (blocks, _) = read_all();
    let (tried, left): (Vec<&Block>, Vec<&Block>) =
        blocks.iter().partition(|block| block.is_tried());
    let count =
        |blocks: &[&Block]| blocks.iter().map(|block| block.commands().len()).sum::<usize>();
    if Workspace::usable().is_none() {
        return;
    }
    // The blocks mostly wait, so four run at once.
    let failed: Vec<String> =
        parallel::map(&tried, 4, |block| attempt(block)).into_iter().flatten().collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count(&tried) > 0, "none is marked");
    // The benchmark `docs.commands_tested` reads these.
    eprintln!("docs.commands_tested {}", count(&tried));
    eprintln!("docs.commands_not_run {}", count(&left));
}

/// Runs a block; returns its output if it failed.
fn attempt(block: &Block) -> Option<String> {
    let place = Workspace::new();
    let datastore = place.path("ds").display().to_string();
    let mut script = block.script().join("\n");
    for directory in STAND_INS {
        script = script.replace(directory, &datastore);
    }
    find(&place, &script);
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", &format!("{LENIENT}{script}")]).current_dir(place.path(""));
    surroundings(&place, &mut command);
    let output = command.envs(BRIEF).output().expect("a shell");
    match output.status.code() {
        Some(0) => None,
        code => Some(format!(
            "{}: ended with {code:?}: {}{}\n{script}",
            block.place,
            out(&output),
            err(&output)
        )),
    }
}

/// Puts the program and the `ssh` of this test first in `PATH`.
pub(crate) fn surroundings(place: &Workspace, command: &mut Command) {
    place.surroundings(command);
    let bin = place.path("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    place.write("bin/ssh", SSH);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("ssh"), mode).expect("it is ours");
    let program = Path::new(env!("CARGO_BIN_EXE_tilemark")).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{}:{path}", bin.display(), program.display()));
}

/// Traces that exist for blocks: recordings of `web1`, also as a table.
const FOUND: [&str; 4] = ["web.csv", "web1.tmt", "slow.tmt", "vm.tmt"];

/// Makes the files that a script reads and does not make itself.
fn find(place: &Workspace, script: &str) {
    let wanted = FOUND
        .into_iter()
        .filter(|name| script.contains(name) && !script.contains(&format!("--out {name}")));
    for name in wanted {
        place.write("web.csv", &trace());
        if name != "web.csv" {
            let made = place.output(&["import", "web.csv", "--out", name]);
            assert!(made.status.success(), "{}", err(&made));
        }
    }
}

/// Two thousand I/Os of one host, one each 0.5 ms, in the format of the MSR Cambridge traces.
fn trace() -> String {
    let mut text = String::new();
    for at in 0..2000_u64 {
        let (time, page) = (128_166_372_000_000_000 + at * 5_000, at * 7919 % 4096);
        let kind = if at % 10 < 7 { "Read" } else { "Write" };
        let _ = writeln!(text, "{time},web1,0,{kind},{},4096,{}", page * 4096, 1_000 + at % 100);
    }
    text
}

/// Help texts by subcommand.
#[derive(Default)]
struct Help(BTreeMap<String, Option<String>>);

impl Help {
    fn of(&mut self, words: &[&str]) -> Option<&str> {
        let asked = self.0.entry(words.join(" ")).or_insert_with(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tilemark"));
            let output = command.args(words).arg("--help").env_remove("COLUMNS").output();
            let output = output.expect("the program starts");
            output.status.success().then(|| out(&output))
        });
        asked.as_deref()
    }

    /// Error in a command, if there is one.
    fn wrong(&mut self, command: &str) -> Option<String> {
        let command = command.split_once("tilemark ")?.1;
        let ends = |word: &&str| !["#", "|", "&&", "||", ";", ">", "--"].contains(word);
        let words: Vec<&str> = command.split_whitespace().take_while(ends).collect();
        let verb = words.first().copied().filter(|own| is_verb(own))?;
        let Some(mut help) = self.of(&[verb]).map(str::to_owned) else {
            return Some(format!("there is no `tilemark {verb}`"));
        };
        let below = words.get(1).copied().filter(|own| is_verb(own));
        if let Some(below) = below.filter(|_| help.contains("\nCommands:")) {
            let Some(more) = self.of(&[verb, below]) else {
                return Some(format!("there is no `tilemark {verb} {below}`"));
            };
            help += more;
        }
        let options = words.iter().filter(|own| own.starts_with("--"));
        let names = options.map(|own| own.split('=').next().unwrap_or(own));
        let known: Vec<&str> =
            help.split(|at: char| !at.is_ascii_alphanumeric() && at != '-').collect();
        let unknown: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
        (!unknown.is_empty()).then(|| format!("`tilemark {verb}` has no {}", unknown.join(", ")))
    }
}

/// True if the word is a subcommand, and no placeholder.
fn is_verb(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|own| own.is_ascii_lowercase() || own == b'-')
        && !word.starts_with('-')
}

/// Returns the code spans of a line that are commands of Tilemark.
fn within(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("tilemark "))
}

#[test]
fn every_command_names_a_verb_and_options_that_there_are() {
    let (blocks, text) = read_all();
    let mut all: Vec<(String, String)> = Vec::new();
    for block in &blocks {
        all.extend(block.commands().into_iter().map(|own| (block.place.clone(), own)));
    }
    for (place, line) in &text {
        all.extend(within(line).map(|own| (place.clone(), own.to_owned())));
    }
    assert!(all.len() > 100, "{} commands were found", all.len());
    let mut help = Help::default();
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|(place, command)| {
            Some(format!("{place}: {}: {command}", help.wrong(command)?))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Test of this module: a failing block is reported, and an unknown command is found.
#[test]
fn what_does_not_work_is_seen() {
    let block = |info: &str, line: &str| Block {
        place: "here".to_owned(),
        info: info.to_owned(),
        lines: vec![line.to_owned()],
    };
    let failed = attempt(&block("sh try", "tilemark runs show nothing-of-the-kind"));
    assert!(failed.is_some_and(|said| said.starts_with("here: ended with ")));
    assert!(attempt(&block("text try", "no prompt, so nothing is run")).is_none());
    let mut help = Help::default();
    assert!(help.wrong("tilemark walk ds").is_some_and(|said| said.contains("no `tilemark walk`")));
    assert!(help.wrong("tilemark runs show latest --bogus").is_some());
    assert_eq!(help.wrong("tilemark run --quick dir:/x --tag a=b"), None);
    let reasons = ["sh not run: it takes root", "sh not run: ", "sh"].map(|info| block(info, "x"));
    assert_eq!(reasons.each_ref().map(|own| own.reason().is_some()), [true, false, false]);
}
