//! Modules of a crate that lead back to themselves.
//!
//! Two modules beside each other form a circle when each, or a module in it, uses a name that the
//! other defines, by any path. Re-exported names are followed to their definition. Uses between a
//! module and the modules in it are no circle, and tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use super::rules::Config;
use super::scan::{blank, production};
use super::{CONFIG, Findings, Tree};

/// Path of a module from its crate's root.
type Module = Vec<String>;

/// A circle stays where a comment of one of its files begins like this and says why.
const REASON: &str = "// Circle: ";

pub fn check(tree: &Tree, config: &Config, findings: &mut Findings) {
    let mut crates: BTreeMap<&str, Vec<(Module, &str)>> = BTreeMap::new();
    for (path, text) in tree {
        if let Some((name, module)) = module_of(path) {
            crates.entry(name).or_default().push((module, text));
        }
    }
    for (name, files) in crates {
        let mut all = Crate::default();
        for (module, text) in &files {
            let names = Names::of(module.clone(), text);
            all.handed_on.insert(module.clone(), names.handed_on);
            all.said.insert(module.clone(), names.said);
        }
        let reached = all.reached();
        let mut errors = Vec::new();
        for circle in circles(&reached) {
            let is_in = |module: &Module| circle.iter().any(|of| module.starts_with(of));
            let has_reason =
                files.iter().any(|(module, text)| is_in(module) && text.contains(REASON));
            if !has_reason {
                let steps = circle.iter().map(|from| {
                    let to = reached[from].iter().filter(|to| circle.contains(*to));
                    let to: Vec<String> = to.map(|to| to.join("::")).collect();
                    format!("{} names {}", from.join("::"), to.join(", "))
                });
                errors.push(format!(
                    "crates/{name}: modules lead back to themselves: {}; cut them, or say why in \
                     one of them after \"{REASON}\"",
                    steps.collect::<Vec<_>>().join("; ")
                ));
            }
        }
        let known = config.circles.get(name).copied().unwrap_or(0);
        match errors.len() {
            now if now < known => findings.errors.push(format!(
                "{CONFIG}: crates/{name} has {now} circles of modules, not {known}: lower it"
            )),
            now if now == known => {}
            _ => findings.errors.append(&mut errors),
        }
    }
}

/// Crate and module of a source file.
fn module_of(path: &str) -> Option<(&str, Module)> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let mut module: Module = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    let last = module.last().map(String::as_str);
    let is_root = module.len() == 1 && matches!(last, Some("lib" | "main"));
    if is_root || last == Some("mod") {
        module.pop();
    }
    (!module.iter().any(|part| part == "tests")).then_some((name, module))
}

/// Names that a file uses and defines.
#[derive(Default)]
struct Names {
    module: Module,
    /// Paths into the crate, from its root.
    said: BTreeSet<Module>,
    /// Re-exported names, with their definitions.
    handed_on: BTreeMap<String, Module>,
}

impl Names {
    /// A path from the crate's root; nothing if it leads elsewhere.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let mut at = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module.split_last()?.1.to_vec(),
            _ => return None,
        };
        for part in &path[1..] {
            if part == "super" {
                at.pop()?;
            } else {
                at.push(part.clone());
            }
        }
        Some(at)
    }

    fn of(module: Module, source: &str) -> Self {
        let mut names = Self { module, ..Self::default() };
        let code = blank(production(source));
        let code = String::from_utf8_lossy(&code);
        let mut words = words(&code).into_iter().peekable();
        let (mut is_public, mut is_for_tests) = (false, false);
        while let Some(word) = words.next() {
            match word {
                "use" if is_for_tests => {
                    words.by_ref().take_while(|word| *word != ";").for_each(drop);
                }
                "use" => {
                    let tree: Vec<&str> = words.by_ref().take_while(|word| *word != ";").collect();
                    names.note_use(&mut tree.into_iter().peekable(), &[], is_public);
                }
                "crate" | "self" | "super" if words.peek() == Some(&"::") => {
                    let mut path = vec![word.to_owned()];
                    while words.next_if_eq(&"::").is_some()
                        && let Some(part) = words.next_if(|word| is_name(word))
                    {
                        path.push(part.to_owned());
                    }
                    names.said.extend(names.absolute(&path));
                }
                _ => {}
            }
            is_for_tests = word == "test" || is_for_tests && matches!(word, ")" | "]");
            is_public = word == "pub" || is_public && matches!(word, "(" | ")" | "crate" | "super");
        }
        names
    }

    /// Notes one tree of a `use`, up to the comma or brace after it.
    fn note_use<'a, W: Iterator<Item = &'a str>>(
        &mut self,
        words: &mut Peekable<W>,
        before: &[String],
        is_public: bool,
    ) {
        let mut path = before.to_vec();
        let mut name = None;
        while let Some(word) = words.next_if(|word| !matches!(*word, "," | "}")) {
            match word {
                "{" => {
                    while words.next_if_eq(&"}").is_none() && words.peek().is_some() {
                        self.note_use(words, &path, is_public);
                        words.next_if_eq(&",");
                    }
                    return;
                }
                "as" => name = words.next(),
                "self" if path.len() > before.len() || !before.is_empty() => {}
                "*" | "::" => {}
                part => path.push(part.to_owned()),
            }
        }
        let name = name.map(str::to_owned).or_else(|| path.last().cloned());
        let found = self.absolute(&path);
        match name.filter(|_| is_public) {
            Some(name) => {
                let from_child = [&["self".to_owned()], path.as_slice()].concat();
                let target = found.or_else(|| self.absolute(&from_child));
                self.handed_on.extend(target.map(|target| (name, target)));
            }
            None => self.said.extend(found),
        }
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::`, and every other sign by itself.
fn words(code: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let in_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            _ if rest.starts_with("::") => 2,
            _ if in_name(first) => rest.find(|c| !in_name(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// All files of a crate.
#[derive(Default)]
struct Crate {
    said: BTreeMap<Module, BTreeSet<Module>>,
    handed_on: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Crate {
    /// Module that defines the name at the end of a path.
    fn home(&self, path: &[String]) -> Module {
        let mut at = Module::new();
        // Every re-export costs a step, so that a circle of re-exports ends.
        let (mut rest, mut steps) = (path.to_vec(), 0);
        while let Some(part) = rest.first().cloned() {
            let mut inner = at.clone();
            inner.push(part.clone());
            if self.said.contains_key(&inner) {
                (at, rest) = (inner, rest.split_off(1));
            } else if let Some(target) = self.handed_on.get(&at).and_then(|names| names.get(&part))
                && steps < 16
            {
                let tail = rest.split_off(1);
                (rest, at, steps) = ([target.as_slice(), &tail].concat(), Module::new(), steps + 1);
            } else {
                break;
            }
        }
        at
    }

    /// Uses between modules beside each other, level by level.
    fn reached(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut reached: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, paths) in &self.said {
            for to in paths.iter().map(|path| self.home(path)) {
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if shared < from.len() && shared < to.len() {
                    let of = |module: &Module| module[..=shared].to_vec();
                    reached.entry(of(from)).or_default().insert(of(&to));
                }
            }
        }
        reached
    }
}

/// Modules that reach one another.
fn circles(direct: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<Module>> {
    let mut reached = direct.clone();
    loop {
        let further = |direct: &BTreeSet<Module>| {
            let next = direct.iter().filter_map(|module| reached.get(module)).flatten();
            direct.iter().chain(next).cloned().collect::<BTreeSet<Module>>()
        };
        let wider: BTreeMap<_, _> =
            reached.iter().map(|(from, direct)| (from.clone(), further(direct))).collect();
        if wider == reached {
            break;
        }
        reached = wider;
    }
    let reaches =
        |from: &Module, to: &Module| reached.get(from).is_some_and(|all| all.contains(to));
    let circle = |module: &Module| -> BTreeSet<Module> {
        let others = reached[module].iter();
        others.filter(|other| reaches(other, module)).cloned().collect()
    };
    reached.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        found_beside(0, files)
    }

    fn found_beside(known: usize, files: &[(&str, &str)]) -> Vec<String> {
        let config = format!("folders = []\ntesting = \"t\"\n[circles]\n\"a/b\" = {known}\n");
        let config = toml::from_str(&config).expect("a configuration");
        let file =
            |(path, text): &(&str, &str)| (format!("crates/a/b/src/{path}"), (*text).to_owned());
        let mut findings = Findings::default();
        check(&files.iter().map(file).collect(), &config, &mut findings);
        findings.errors
    }

    #[test]
    fn modules_that_use_each_other_over_a_third_are_named() {
        let there = ("x/mod.rs", "mod one;\npub use one::One;\n");
        let one = ("x/one.rs", "use crate::y::{Two, Other};\npub struct One;\n");
        let two = ("y.rs", "pub struct Two(pub crate::z::Three);\npub struct Other;\n");
        let three = ("z.rs", "use crate::x::One;\npub struct Three(One);\n");
        let circle = found(&[("lib.rs", "mod x;\nmod y;\nmod z;\n"), there, one, two, three]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        assert!(circle[0].contains("x names y; y names z; z names x"), "{circle:?}");
        assert_eq!(found_beside(1, &[there, one, two, three]), [""; 0]);
        assert!(found_beside(2, &[there, one, two, three])[0].contains("not 2: lower it"));
        let straight = ("z.rs", "pub struct Three;\n");
        assert_eq!(found(&[("lib.rs", ""), there, one, two, straight]), [""; 0]);
    }

    #[test]
    fn a_name_that_is_handed_on_belongs_to_where_it_is_defined() {
        let root = ("x/mod.rs", "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n");
        let one = ("x/one.rs", "use super::Two;\npub struct One(Two);\n");
        let two = ("x/two.rs", "pub struct Two;\n");
        assert_eq!(found(&[root, one, two]), [""; 0]);
        let back = ("x/two.rs", "pub struct Two;\nfn f() { super::One::new(); }\n");
        let circle = found(&[root, one, back]);
        assert!(circle[0].contains("x::one names x::two; x::two names x::one"), "{circle:?}");
    }

    #[test]
    fn tests_children_and_a_reason_are_no_finding() {
        let one = ("one.rs", "use crate::two::Two;\npub struct One;\n");
        let tests =
            ("two.rs", "pub struct Two;\n#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n");
        assert_eq!(found(&[one, tests]), [""; 0]);
        let parent = ("one.rs", "mod inner;\nuse inner::Inner;\npub struct One(Inner);\n");
        let child = ("one/inner.rs", "use super::One;\npub struct Inner(Box<One>);\n");
        assert_eq!(found(&[parent, child]), [""; 0]);
        let excused = (
            "two.rs",
            "// Circle: a tree and its branches.\nuse crate::one::One;\npub struct Two(One);\n",
        );
        assert_eq!(found(&[one, excused]), [""; 0]);
    }
}
