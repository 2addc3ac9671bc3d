use std::path::Path;

use toml::de::DeTable;
use toml::{Table, Value};

use super::merge::{entry_name, entry_names, merge};
use crate::array::Array;
use crate::error::{Invalid, Problem, SpecError};
use crate::load::{load_array, read};
use crate::locate;
use crate::nearest::did_you_mean;
use crate::shipped;

/// Returns the text of an array's file, and the file's name for messages. The array is given by
/// shipped name, or by a path relative to `base`.
pub fn array_text(name: &str, base: &Path) -> Result<(String, String), SpecError> {
    if shipped::is_path(name) {
        let path = base.join(name);
        return Ok((path.display().to_string(), read(&path, "array")?));
    }
    Ok((format!("arrays/{name}.toml"), shipped::array_file(name)?.text.to_owned()))
}

/// Resolves an array by shipped name, or from a file with a path relative to `base`, and applies
/// changes in order (see [`with`]).
pub fn resolve_array_with(
    name: &str,
    base: &Path,
    overlays: &[toml::Table],
) -> Result<Array, SpecError> {
    let (file, text) = array_text(name, base)?;
    with_all(&file, &text, overlays)
}

/// Parses an array from a file's text and applies changes.
///
/// Tables merge key by key. The lists `tier`, `pool` and `place` merge by name (`place` by its
/// pool). `[tier.fast]` with a key, and `[[tier]]` with `name = "fast"` and that key, mean the
/// same. A new name adds an entry: a rule before the rules of the file, a host tier before the
/// array's tiers, and all other entries at the end. `remove = true` removes the table or entry that
/// contains it; for a single key write `key = { remove = true }`.
///
/// # Errors
///
/// The text is not a valid array, or becomes invalid by the changes. In the latter case, each
/// [`Problem`] names the key as an overlay writes it, `tier.fast.size`, in its message and as its
/// path.
pub fn with(base: &str, overlay: &Table) -> Result<Array, SpecError> {
    with_all("array", base, std::slice::from_ref(overlay))
}

/// Parses an array from a file's text and applies several overlays in order. `name` is the file's
/// name in messages.
///
/// # Errors
///
/// Errors of [`with`].
pub fn with_all(name: &str, base: &str, overlays: &[Table]) -> Result<Array, SpecError> {
    let array = load_array(name, base)?;
    if overlays.iter().all(Table::is_empty) {
        return Ok(array);
    }
    let invalid = |text: &str, problems| {
        SpecError::Invalid(Box::new(Invalid::new(&format!("{name} with changes"), text, problems)))
    };
    let before: Table = toml::from_str(base).expect("a loaded array is valid TOML");
    let mut document = before.clone();
    for overlay in overlays {
        merge(&mut document, overlay).map_err(|problem| invalid(base, vec![problem]))?;
    }
    let text = toml::to_string(&document).expect("parsed TOML can be serialised");
    load_array(name, &text).map_err(|error| match error {
        SpecError::Invalid(error) => {
            let named = |problem: &Problem| by_name(problem.clone(), &text, (&before, &document));
            invalid(&text, error.problems().map(named).collect())
        }
        other => other,
    })
}

/// Rewrites a problem's key to the form of an overlay.
fn by_name(problem: Problem, text: &str, (before, after): (&Table, &Table)) -> Problem {
    let path = if problem.path.is_empty() {
        let document = DeTable::parse(text).ok();
        let place = problem.span.clone().zip(document);
        place.map_or_else(String::new, |(span, document)| {
            locate::path_at(&document, span.start).to_string()
        })
    } else {
        problem.path.clone()
    };
    let (path, entry) = key_of(&path, after);
    if path.is_empty() {
        return problem;
    }
    // A typing error in a name makes a new entry, which then lacks its other keys.
    let help = entry.filter(|(list, name)| !entry_names(before, list).contains(name)).map(
        |(list, name)| {
            let known = entry_names(before, list);
            format!("\"{name}\" is new; {}", did_you_mean(name, &known, &format!("{list}s")))
        },
    );
    let message = format!("{path}: {}", problem.message);
    Problem { message, path, help: problem.help.or(help), span: problem.span }
}

/// Rewrites `tier[0].size` as `tier.fast.size`, and returns its list and entry.
fn key_of<'a>(path: &'a str, document: &'a Table) -> (String, Option<(&'a str, &'a str)>) {
    let entry = path.split_once('[').and_then(|(list, rest)| {
        let (index, rest) = rest.split_once(']')?;
        let name = entry_name(document, list, index.parse().ok()?)?;
        Some((list, name, rest))
    });
    match entry {
        Some((list, name, rest)) => (format!("{list}.{name}{rest}"), Some((list, name))),
        None => (path.to_owned(), None),
    }
}

/// Builds an overlay from settings such as `tier.fast.size=366GiB` and `pool.lun1.count=11`.
///
/// The key is a TOML key, with quotes around a name that contains a dot. The value is a TOML value
/// if it can be parsed as one (`11`, `true`, `[1, 2]`, `{ like = "hdd-10k" }`), and otherwise a
/// text, which needs no quotes.
///
/// # Errors
///
/// A setting has another form, or two settings have the same key.
pub fn overlay(settings: &[impl AsRef<str>]) -> Result<Table, SpecError> {
    let mut all = Table::new();
    for setting in settings {
        let text = setting.as_ref();
        let error = |reason| SpecError::Setting { setting: text.to_owned(), reason };
        let (key, value) = text.split_once('=').ok_or_else(|| error(NO_VALUE))?;
        let keys = key_path(key).ok_or_else(|| error(NO_KEY))?;
        if !set(&mut all, &keys, value_of(value.trim())) {
            return Err(error(TWICE));
        }
    }
    Ok(all)
}

const NO_VALUE: &str = "has no \"=\"";
const NO_KEY: &str = "has no key (names with dots between them)";
const TWICE: &str = "sets a key that another setting sets too";

/// Splits a dotted key into its names.
fn key_path(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '#', '=']) {
        return None;
    }
    let mut table: Table = toml::from_str(&format!("{key} = 0")).ok()?;
    let mut names = Vec::new();
    while let Some((name, value)) = table.into_iter().next() {
        names.push(name);
        match value {
            Value::Table(inner) => table = inner,
            _ => return Some(names),
        }
    }
    None
}

fn value_of(text: &str) -> Value {
    let plain = || Value::String(text.to_owned());
    if text.contains(['\n', '\r']) {
        return plain();
    }
    let read: Option<Table> = toml::from_str(&format!("value = {text}")).ok();
    match read.and_then(|mut table| table.remove("value")) {
        None | Some(Value::Datetime(_)) => plain(),
        Some(value) => value,
    }
}

/// Sets a value at the path of a key. Returns false if the key is already set, or if a part of the
/// path is not a table.
fn set(table: &mut Table, keys: &[String], value: Value) -> bool {
    let Some((first, rest)) = keys.split_first() else { return false };
    if rest.is_empty() {
        return !table.contains_key(first) && table.insert(first.clone(), value).is_none();
    }
    let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
    inner.as_table_mut().is_some_and(|inner| set(inner, rest, value))
}
