//! Results of studies come from definitions that were committed before the run.
//!
//! A result names the commit of the program that made it. That program has its definitions compiled
//! in, so the definitions of that commit are those of the run. Refused: a program with uncommitted
//! changes, a commit that this history does not have, and parameters that differ between the run
//! and the commit that stored its result. Told only: parameters that were changed since, which make a
//! page older than its study. Words (`why`, `notes`, `source`, ...) are no parameters.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::Findings;
use super::claims::git;

/// Results from before 2026-11-29 (UTC) do not name their commit.
const FROM: i64 = 1_795_910_400;

/// Parameters by file, as one commit has them.
type Definitions = BTreeMap<String, toml::Value>;

pub fn check(root: &Path, study_path: &str, findings: &mut Findings) -> Result<()> {
    let name = Path::new(study_path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let result_path = format!("docs/studies/{name}.json");
    let log = git(root, &["log", "-1", "--format=%h %ct", "--", &result_path])?;
    let Some((stored_by, time)) = log.trim().split_once(' ') else { return Ok(()) };
    if time.parse::<i64>().context("a time of git log")? < FROM {
        return Ok(());
    }
    let result = git(root, &["show", &format!("{stored_by}:{result_path}")])?;
    let result: serde_json::Value = serde_json::from_str(&result).context("a result is JSON")?;
    let run_by = result["tool"]["commit"].as_str().unwrap_or("no commit");
    if git(root, &["merge-base", "--is-ancestor", run_by, stored_by]).is_err() {
        findings.errors.push(format!(
            "{result_path}: made by a program of {run_by}, which is no commit before {stored_by}; \
             hint: commit the definitions, build, and run the study again"
        ));
        return Ok(());
    }
    let [run, stored, now] = [run_by, stored_by, "HEAD"]
        .map(|commit| parameters(study_path, |path| show(root, commit, path)));
    if let Some(file) = difference(&run, &stored) {
        findings.errors.push(format!(
            "{result_path}: {file} was changed between the run ({run_by}) and its result \
             ({stored_by}); hint: run the study again"
        ));
    } else if let Some(file) = difference(&stored, &now) {
        findings.warnings.push(format!(
            "{result_path}: {file} was changed since, so the result is older than its study"
        ));
    }
    Ok(())
}

fn show(root: &Path, commit: &str, path: &str) -> Option<String> {
    git(root, &["show", &format!("{commit}:{path}")]).ok()
}

fn difference<'a>(one: &'a Definitions, other: &'a Definitions) -> Option<&'a str> {
    let files = one.keys().chain(other.keys());
    files.map(String::as_str).find(|file| one.get(*file) != other.get(*file))
}

/// Parameters of a study, and of every array, tile and workload that it names, directly or not.
fn parameters(study_path: &str, read: impl Fn(&str) -> Option<String>) -> Definitions {
    let mut found = Definitions::new();
    let mut wanted = vec![study_path.to_owned()];
    while let Some(path) = wanted.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let Some(mut value) =
            read(&path).and_then(|text| text.parse().ok().map(toml::Value::Table))
        else {
            continue;
        };
        named(&value, &path, &mut wanted);
        remove_words(&mut value);
        found.insert(path, value);
    }
    found
}

/// Files that a definition may mean by the names it has: one beside it, or a shipped one.
fn named(value: &toml::Value, path: &str, wanted: &mut Vec<String>) {
    match value {
        toml::Value::Array(list) => list.iter().for_each(|each| named(each, path, wanted)),
        toml::Value::Table(table) => {
            for (key, each) in table {
                let folder = match key.as_str() {
                    "array" => "data/arrays",
                    "tile" | "operations" => "data/tiles",
                    "use" => "data/tiles/workloads",
                    _ => {
                        named(each, path, wanted);
                        continue;
                    }
                };
                let Some(name) = each.as_str() else { continue };
                wanted.push(match name.ends_with(".toml") {
                    true => beside(path, name),
                    false => format!("{folder}/{name}.toml"),
                });
            }
        }
        _ => {}
    }
}

fn beside(path: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn remove_words(value: &mut toml::Value) {
    match value {
        toml::Value::Array(list) => list.iter_mut().for_each(remove_words),
        toml::Value::Table(table) => {
            table.retain(|key, _| !["why", "text", "title", "source", "notes"].contains(&key));
            table.iter_mut().for_each(|(_, each)| remove_words(each));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(speed: &str, cpu: &str, why: &str) -> Definitions {
        parameters("data/studies/x.toml", |path| {
            let text = match path {
                "data/studies/x.toml" => format!(
                    "tile = \"tiles/t.toml\"\n[[configuration]]\narray = \"slow\"\nspeed = {speed}\n\
                     [[claim]]\nid = \"A\"\nwhy = \"{why}\"\n"
                ),
                "data/studies/tiles/t.toml" => {
                    "[[workload]]\nuse = \"../workloads/mail.toml\"\n".to_owned()
                }
                "data/studies/workloads/mail.toml" => format!("cpu = \"{cpu}\" # a comment\n"),
                "data/arrays/slow.toml" => "disks = 2".to_owned(),
                other => panic!("{other} is not named"),
            };
            Some(text)
        })
    }

    #[test]
    fn parameters_of_named_files_count_and_words_do_not() {
        let first = study("0.9", "144ms", "");
        assert_eq!(first.len(), 4, "{first:?}");
        assert_eq!(difference(&first, &study("0.9", "144ms", "the disks are old")), None);
        let [speed, cpu] = [study("0.8", "144ms", ""), study("0.9", "22ms", "")];
        assert_eq!(difference(&first, &speed), Some("data/studies/x.toml"));
        assert_eq!(difference(&first, &cpu), Some("data/studies/workloads/mail.toml"));
    }

    /// Judges a history of two commits: definitions, then a result that says which program made it.
    fn history(run_by: impl Fn(&str) -> String, stored: &str, name: &str) -> Findings {
        let root = std::env::temp_dir().join(format!("tidy-frozen-{name}-{}", std::process::id()));
        std::fs::create_dir_all(root.join("data/studies")).expect("a directory");
        std::fs::create_dir_all(root.join("docs/studies")).expect("a directory");
        let commit = |what: &str| {
            git(&root, &["add", "-A"]).expect("files are added");
            let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
            git(&root, &[&who[..], &["commit", "-qm", what]].concat()).expect("a commit");
            git(&root, &["rev-parse", "HEAD"]).expect("its name").trim().to_owned()
        };
        git(&root, &["init", "-q"]).expect("a repository");
        std::fs::write(root.join("data/studies/x.toml"), "speed = 0.9\n").expect("a study");
        let frozen = commit("freeze");
        let result = format!("{{\"tool\": {{\"commit\": \"{}\"}}}}", run_by(&frozen));
        std::fs::write(root.join("docs/studies/x.json"), result).expect("a result");
        std::fs::write(root.join("data/studies/x.toml"), stored).expect("a study");
        commit("result");
        let mut findings = Findings::default();
        check(&root, "data/studies/x.toml", &mut findings).expect("it can be judged");
        std::fs::remove_dir_all(root).expect("it was made here");
        findings
    }

    #[test]
    fn result_of_frozen_definitions_passes_and_others_are_errors() {
        let same = "speed = 0.9\nnotes = \"why\"\n";
        let good = history(ToOwned::to_owned, same, "good");
        assert_eq!(good.errors, [""; 0], "words are added later");
        let dirty = history(|commit| format!("{commit}-dirty"), same, "dirty");
        assert!(dirty.errors[0].contains("which is no commit before"), "{dirty:?}");
        let tuned = history(ToOwned::to_owned, "speed = 0.8\n", "tuned");
        assert!(tuned.errors[0].contains("was changed between the run"), "{tuned:?}");
    }
}
