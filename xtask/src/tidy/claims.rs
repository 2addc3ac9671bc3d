//! Checks that a claim is older than its result: a claim of kind `predicted` must not have changed
//! after a page first had its outcome.
//!
//! Needs git's history; a checkout without it (an archive, a shallow clone) gives a notice and is
//! not judged.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Findings, frozen};

/// Results from before 2026-11-23 (UTC) came into git together with their claims, so that nothing
/// can be shown of them: docs/studies/README.md says so.
const FROM: i64 = 1_795_392_000;

/// A file as one commit left it.
#[derive(Debug, Clone)]
struct Version {
    commit: String,
    /// Seconds since 1970.
    time: i64,
    text: String,
}

pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    if let Some(why) = without_history(root) {
        findings.warnings.push(format!("claims of studies were not held against history: {why}"));
        return Ok(());
    }
    let listed = git(root, &["ls-files", "data/studies/*.toml"])?;
    for path in listed.lines().filter(|path| path.matches('/').count() == 2) {
        // Studies were in the root until November 2026.
        let old_path = path.trim_start_matches("data/");
        let name = old_path.trim_start_matches("studies/").trim_end_matches(".toml");
        let mut study = history(root, old_path)?;
        study.extend(history(root, path)?);
        let mut pages = history(root, &format!("docs/studies/{name}.md"))?;
        pages.extend(history(root, &format!("docs/studies/{name}-real.md"))?);
        pages.sort_by_key(|page| page.time);
        findings.errors.extend(judge(path, &study, &pages));
        frozen::check(root, path, findings)?;
    }
    Ok(())
}

fn without_history(root: &Path) -> Option<&'static str> {
    match git(root, &["rev-parse", "--is-shallow-repository"]) {
        Err(_) => Some("this is no git checkout"),
        Ok(shallow) if shallow.trim() == "true" => Some("this is a shallow clone"),
        Ok(_) => None,
    }
}

pub(super) fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let done = Command::new("git").args(arguments).current_dir(root).output();
    let done = done.context("running git")?;
    if !done.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Every version of a file, oldest first; none of a file that never was.
fn history(root: &Path, path: &str) -> Result<Vec<Version>> {
    let log = git(root, &["log", "--reverse", "--format=%h %ct", "--diff-filter=AM", "--", path])?;
    let version = |line: &str| {
        let (commit, time) = line.split_once(' ').context("a line of git log")?;
        Ok(Version {
            commit: commit.to_owned(),
            time: time.parse().context("a time of git log")?,
            text: git(root, &["show", &format!("{commit}:{path}")])?,
        })
    };
    log.lines().map(version).collect()
}

/// Fields that decide whether a claim is met; its words and reasons may be corrected later.
type Definition = BTreeMap<String, toml::Value>;

const DECIDES: [&str; 5] = ["kind", "published", "unit", "tolerance", "measure"];

fn claims(text: &str) -> BTreeMap<String, Definition> {
    let study: toml::Table = text.parse().unwrap_or_default();
    let claims = study.get("claim").and_then(toml::Value::as_array);
    let definition = |claim: &toml::Value| {
        let id = claim.get("id")?.as_str()?.to_owned();
        let parts = DECIDES.iter().filter_map(|key| {
            let value = claim.get(*key)?;
            Some(((*key).to_owned(), value.clone()))
        });
        Some((id, parts.collect()))
    };
    claims.into_iter().flatten().filter_map(definition).collect()
}

/// Claims called predicted that were changed after their first result.
fn judge(path: &str, study: &[Version], pages: &[Version]) -> Vec<String> {
    let Some(last) = study.last() else { return Vec::new() };
    let mut late = Vec::new();
    for (id, definition) in claims(&last.text) {
        let is_predicted =
            definition.get("kind").and_then(toml::Value::as_str) == Some("predicted");
        let same = |version: &&Version| claims(&version.text).get(&id) == Some(&definition);
        let changed = study.iter().rev().take_while(same).last();
        let row = format!("| {id} |");
        let first = pages.iter().find(|page| page.text.contains(&row));
        if let (true, Some(changed), Some(first)) = (is_predicted, changed, first)
            && changed.time >= FROM
            && changed.time > first.time
        {
            late.push(format!(
                "{path}: claim {id} is called predicted, and was last changed by {} after {} held \
                 its first result; hint: give the changed claim a new id, or another kind",
                changed.commit, first.commit
            ));
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(commit: &str, days: i64, text: &str) -> Version {
        Version { commit: commit.to_owned(), time: FROM + days * 86_400, text: text.to_owned() }
    }

    fn claim(kind: &str, tolerance: f64, why: &str) -> String {
        format!(
            "[[claim]]\nid = \"A2\"\nkind = \"{kind}\"\npublished = 2\nwhy = \"{why}\"\n\
             tolerance = {{ absolute = {tolerance} }}\n"
        )
    }

    fn page(days: i64) -> Vec<Version> {
        let other = version("p0", days - 1, "| A22 | predicted | 2 | 2 |");
        vec![other, version("p1", days, "| A2 | predicted | 2 | 3 |")]
    }

    #[test]
    fn tolerance_widened_after_its_result_is_an_error() {
        let first = || version("s1", 1, &claim("predicted", 1.0, ""));
        let wider = || version("s2", 5, &claim("predicted", 2.0, ""));
        let late = judge("data/studies/x.toml", &[first(), wider()], &page(3));
        assert_eq!(late.len(), 1, "{late:?}");
        assert!(late[0].contains("claim A2") && late[0].contains("s2 after p1"), "{late:?}");
        assert_eq!(judge("x", &[first(), wider()], &page(6)), [""; 0], "before its first result");
        let why = version("s2", 5, &claim("predicted", 1.0, "the disks are old"));
        assert_eq!(judge("x", &[first(), why], &page(3)), [""; 0], "words decide nothing");
        let relabelled = version("s2", 5, &claim("calibrated", 2.0, ""));
        assert_eq!(judge("x", &[first(), relabelled], &page(3)), [""; 0]);
        let turned = version("s3", 6, &claim("predicted", 1.0, ""));
        let back = judge("x", &[first(), wider(), turned], &page(3));
        assert_eq!(back.len(), 1, "changed there and back is changed: {back:?}");
    }

    #[test]
    fn what_was_changed_before_the_rule_is_not_judged() {
        let changed = version("s2", -1, &claim("predicted", 2.0, ""));
        assert_eq!(judge("x", &[changed], &page(-3)), [""; 0]);
    }

    #[test]
    fn without_git_it_is_told_that_nothing_was_held_against_history() {
        let directory = std::env::temp_dir().join(format!("tidy-claims-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut findings = Findings::default();
        check(&directory, &mut findings).expect("it is skipped");
        std::fs::remove_dir(&directory).expect("it is empty");
        assert!(findings.warnings[0].contains("this is no git checkout"), "{findings:?}");
        assert_eq!(findings.errors, [""; 0]);
    }
}
