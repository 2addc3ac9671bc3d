//! Without a terminal there are no escape sequences; with one, the view leaves it unchanged.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use crate::rig::{DEADLINE, Workspace, err, out, run_words};
use crate::serving::get;

#[test]
fn without_a_terminal_there_is_no_escape_sequence() {
    let Some(place) = Workspace::usable() else { return };
    for live in ["auto", "full"] {
        let output = place.run(0, &["--live", live]);
        assert!(!err(&output).contains('\u{1b}') && !out(&output).contains('\u{1b}'));
        assert!(err(&output).contains("step: 1 tile, 1 VM, at most"), "{}", err(&output));
    }
    let off = place.run(0, &["--live", "off"]);
    assert_eq!(err(&off), "", "nothing but the result");
}

/// Runs a run under `script` and presses Ctrl-C once the screen shows `interrupt_at`. Returns the
/// terminal's output; `None` where there is no such `script`.
fn on_a_terminal(
    place: &Workspace,
    environment: &[(&str, &str)],
    more: &[&str],
    interrupt_at: Option<&str>,
) -> Option<String> {
    let is_due = |screen: &str| interrupt_at.is_some_and(|moment| screen.contains(moment));
    typed(place, environment, &run_words(more).join(" "), is_due)
}

/// Runs the program under `script`, which gives it a terminal, answers its request for the cursor,
/// and presses Ctrl-C once `is_due` accepts the screen.
fn typed(
    place: &Workspace,
    environment: &[(&str, &str)],
    words: &str,
    mut is_due: impl FnMut(&str) -> bool,
) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_tilemark");
    // The terminal sends Ctrl-C to the shell too, and a shell without a trap may end with it
    // before it says the code (dash does, bash does not).
    let line = format!(
        "trap : INT; stty rows 40 cols 120; {program} {words} > data; echo code $?; stty -a"
    );
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).current_dir(place.path(""));
    command.env("SHELL", "/bin/sh");
    place.surroundings(&mut command);
    command.envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut script) = command.spawn() else {
        eprintln!("skipped: there is no script(1) of util-linux here");
        return None;
    };
    let (mut keys, mut screen) = (script.stdin.take()?, script.stdout.take()?);
    let (sender, parts) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = screen.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut seen, mut answered, mut pressed) = (Vec::new(), 0, false);
    while let Ok(part) = parts.recv_timeout(DEADLINE) {
        seen.extend(part);
        let text = String::from_utf8_lossy(&seen);
        while answered < text.matches("\u{1b}[6n").count() {
            keys.write_all(b"\x1b[1;1R").expect("the terminal listens");
            answered += 1;
        }
        if !pressed && is_due(&text) {
            keys.write_all(&[3]).expect("the terminal listens");
            pressed = true;
        }
    }
    drop(keys);
    script.wait().expect("it is our child");
    Some(String::from_utf8_lossy(&seen).into_owned())
}

fn is_sane(screen: &str) {
    let last = |sequence: &str| screen.rfind(sequence).unwrap_or(0);
    assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "the cursor is hidden:\n{screen}");
    assert!(!screen.contains("\u{1b}[?1049h"), "the other screen is not used");
    let settings: Vec<&str> = screen.split_whitespace().collect();
    for word in ["echo", "icanon", "isig"] {
        assert!(settings.contains(&word), "the terminal lost {word}:\n{screen}");
    }
}

#[test]
fn on_a_terminal_the_view_changes_in_place_and_goes_away() {
    let Some(place) = Workspace::usable() else { return };
    let Some(screen) = on_a_terminal(&place, &[], &["--format", "json"], None) else { return };
    assert!(screen.contains("code 0"), "{screen}");
    assert!(screen.contains("\u{1b}[?25l") && screen.contains("IOPS"), "no view:\n{screen}");
    is_sane(&screen);
    let data = std::fs::read_to_string(place.path("data")).expect("what stdout got");
    run_store::run::parse(&data).expect("stdout is data and nothing else");
}

#[test]
fn ctrl_c_on_a_terminal_leaves_it_sane() {
    let Some(place) = Workspace::usable() else { return };
    let long = ["--duration", "60s"];
    let screen = on_a_terminal(&place, &[], &long, Some("measuring"));
    let Some(screen) = screen else { return };
    assert!(screen.contains("code 130"), "{screen}");
    is_sane(&screen);
    assert!(place.names("ds").is_empty());
}

#[test]
fn a_dumb_terminal_or_ci_gets_plain_lines() {
    let Some(place) = Workspace::usable() else { return };
    for environment in [[("TERM", "dumb")], [("CI", "1")]] {
        let Some(screen) = on_a_terminal(&place, &environment, &[], None) else { return };
        assert!(!screen.contains('\u{1b}'), "{environment:?}:\n{screen}");
        assert!(screen.contains("step: 1 tile"), "{screen}");
    }
}

#[test]
fn no_color_means_none() {
    let Some(place) = Workspace::usable() else { return };
    let Some(screen) = on_a_terminal(&place, &[("NO_COLOR", "1")], &[], None) else { return };
    for color in ["\u{1b}[34m", "\u{1b}[36m", "\u{1b}[38;5;4m", "\u{1b}[38;5;6m"] {
        assert!(!screen.contains(color), "colour in:\n{screen}");
    }
}

#[test]
fn the_demo_serves_its_page_until_ctrl_c() {
    let Some(place) = Workspace::usable() else { return };
    let mut page = None;
    let screen = typed(&place, &[], "demo ds --out runs", |screen| {
        let Some((before, _)) = screen.split_once("; Ctrl-C ends it") else { return false };
        let url = before.rsplit_once("page: http://127.0.0.1:").map(|(_, url)| url.to_owned());
        let (port, path) = url.as_deref().and_then(|url| url.split_once('/')).expect("an address");
        let (status, body) =
            get(port.parse().expect("a port"), &format!("/api/v1/{}", plural(path)));
        page = Some((status, body));
        true
    });
    let Some(screen) = screen else { return };
    let (status, body) = page.expect("the run ended, and its page stayed");
    assert!(status == 200 && body.contains("datacenter"), "{status} {body}");
    assert!(screen.contains("code 0"), "{screen}");
    is_sane(&screen);
    assert!(place.names("ds").is_empty() && place.names("runs").len() == 1);
}

/// Path of a run in the HTTP interface, from the path of its page: `runs/ID` for `run/ID`.
fn plural(path: &str) -> String {
    path.replacen("run/", "runs/", 1)
}

/// Output of a program on a terminal of so many columns, line by line; `None` where there is no
/// `script`.
fn lines_on(place: &Workspace, columns: u32, words: &[&str]) -> Option<Vec<String>> {
    let program = env!("CARGO_BIN_EXE_tilemark");
    let line = format!("stty rows 40 cols {columns}; {program} {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).current_dir(place.path(""));
    command.env("SHELL", "/bin/sh");
    place.surroundings(&mut command);
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        eprintln!("skipped: there is no script(1) of util-linux here");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn sixty_columns_hold_tables_and_answers() {
    let place = Workspace::new();
    let words = ["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1"];
    let run = place.output(&crate::rig::simulate_words(&words));
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    for words in [
        &["array", "list"][..],
        &["tiles", "ls"],
        &["tiles", "show", "datacenter"],
        &["runs", "ls"],
        &["runs", "show", "latest"],
        &["runs", "show", "latest", "--verbose"],
        &["compare", "latest", "vs", "latest"],
    ] {
        let Some(lines) = lines_on(&place, 60, words) else { return };
        assert!(lines.len() > 1, "{words:?}: {lines:?}");
        for line in &lines {
            assert!(line.chars().count() <= 60, "{words:?}: {line:?} of {lines:#?}");
            assert!(!line.contains('…'), "{words:?} cuts: {line}");
        }
    }
}

#[test]
fn simulate_is_quick_on_a_terminal_and_standard_in_a_pipe() {
    let place = Workspace::new();
    let words = ["simulate", "--array", "hdd-raid10", "--tile", "tile.toml", "--print-config"];
    let has_profile = |text: &str, profile: &str| {
        let row =
            text.lines().find(|line| line.starts_with("profile ") && line.contains("default"));
        row.is_some_and(|row| row.contains(profile))
    };
    let piped = place.output(&words);
    assert!(has_profile(&out(&piped), "standard"), "{}", out(&piped));
    let line = format!("{} {}", env!("CARGO_BIN_EXE_tilemark"), words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).current_dir(place.path(""));
    command.env("SHELL", "/bin/sh").stdin(Stdio::null());
    place.surroundings(&mut command);
    let Ok(typed) = command.output() else {
        eprintln!("skipped: there is no script(1) of util-linux here");
        return;
    };
    let screen = out(&typed);
    assert!(has_profile(&screen, "quick"), "{screen}");
    assert!(screen.contains("--standard uses three repeats"), "{screen}");
}

#[test]
fn changed_array_says_in_its_title_what_was_changed() {
    let place = Workspace::new();
    let words = ["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1", "--seed", "1"];
    let with = ["--with", "pool.shelf.count=12"];
    let text = out(&place.output(&crate::rig::simulate_words(&[&words[..], &with].concat())));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("changed: pool.shelf.count=12"), "{text}");
}
