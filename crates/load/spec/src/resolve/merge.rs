use toml::{Table, Value};

use crate::error::Problem;
use crate::nearest::did_you_mean;

/// Lists of tables, each with the key that identifies its entries.
const LISTS: [(&str, &str); 3] = [("tier", "name"), ("pool", "name"), ("place", RULE_ID)];
/// Key that identifies a placement rule, which has no name of its own.
const RULE_ID: &str = "pool";
const REMOVE: &str = "remove";

/// Merges `overlay` into the document of an array. A problem names its key in the overlay.
pub(super) fn merge(base: &mut Table, overlay: &Table) -> Result<(), Problem> {
    for (key, change) in overlay {
        match LISTS.iter().find(|(list, _)| list == key) {
            Some((list, id)) => {
                let old = base.entry(*list).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(old) = old else {
                    return Err(mistake(key, "is not a list of tables in the array's file"));
                };
                merge_list(old, change, (list, id))?;
            }
            None => merge_key(base, key, change, key)?,
        }
    }
    Ok(())
}

/// Returns the name of an entry of one of the lists; `None` if there is no such entry.
pub(super) fn entry_name<'t>(document: &'t Table, list: &str, index: usize) -> Option<&'t str> {
    let (_, id) = LISTS.iter().find(|(name, _)| *name == list)?;
    name_of(document.get(list)?.get(index)?, id)
}

/// All names of one of the lists.
pub(super) fn entry_names<'t>(document: &'t Table, list: &str) -> Vec<&'t str> {
    let count = document.get(list).and_then(Value::as_array).map_or(0, Vec::len);
    (0..count).filter_map(|index| entry_name(document, list, index)).collect()
}

/// Creates a problem at a key of the overlay.
pub(super) fn mistake(key: &str, message: &str) -> Problem {
    Problem { message: format!("{key} {message}"), span: None, help: None, path: key.to_owned() }
}

fn name_of<'t>(entry: &'t Value, id: &str) -> Option<&'t str> {
    entry.get(id).and_then(Value::as_str)
}

fn merge_key(base: &mut Table, key: &str, change: &Value, path: &str) -> Result<(), Problem> {
    if is_removal(change, path)? {
        return match base.remove(key) {
            Some(_) => Ok(()),
            None => Err(absent(path, key, &base.keys().map(String::as_str).collect::<Vec<_>>())),
        };
    }
    match (base.get_mut(key), change) {
        (Some(Value::Table(old)), Value::Table(new)) => merge_table(old, new, path),
        _ => {
            base.insert(key.to_owned(), change.clone());
            Ok(())
        }
    }
}

fn merge_table(base: &mut Table, change: &Table, path: &str) -> Result<(), Problem> {
    change
        .iter()
        .try_for_each(|(key, change)| merge_key(base, key, change, &format!("{path}.{key}")))
}

/// Returns true if a change removes its table or entry.
fn is_removal(change: &Value, path: &str) -> Result<bool, Problem> {
    match change.get(REMOVE) {
        None => Ok(false),
        Some(Value::Boolean(true)) if change.as_table().is_some_and(|table| table.len() == 1) => {
            Ok(true)
        }
        Some(Value::Boolean(true)) => {
            Err(mistake(path, "is removed, so it cannot have other settings"))
        }
        Some(_) => Err(mistake(&format!("{path}.{REMOVE}"), "must be true, or be left out")),
    }
}

fn absent(path: &str, name: &str, known: &[&str]) -> Problem {
    let help = Some(did_you_mean(name, known, "names"));
    Problem { help, ..mistake(path, "is not in the array, so it cannot be removed") }
}

fn merge_list(
    base: &mut Vec<Value>,
    change: &Value,
    (list, id): (&str, &str),
) -> Result<(), Problem> {
    let known: Vec<String> =
        base.iter().filter_map(|entry| name_of(entry, id)).map(str::to_owned).collect();
    let mut changed: Vec<String> = Vec::new();
    for (name, change) in entries(change, (list, id))? {
        let path = format!("{list}.{name}");
        if !known.contains(&name) {
            add(base, (&name, id), &change, (&path, &known))?;
        } else if changed.contains(&name) {
            return Err(mistake(&path, "is changed twice"));
        } else {
            change_entry(base, (&name, id), &change, &path)?;
            changed.push(name);
        }
    }
    Ok(())
}

/// Returns the entries of an overlay's list, in either form, with their names.
fn entries(change: &Value, (list, id): (&str, &str)) -> Result<Vec<(String, Table)>, Problem> {
    let as_table = |path: &str, entry: &Value| {
        entry.as_table().cloned().ok_or_else(|| mistake(path, "is not a table"))
    };
    match change {
        Value::Table(by_name) => by_name
            .iter()
            .map(|(name, entry)| Ok((name.clone(), as_table(&format!("{list}.{name}"), entry)?)))
            .collect(),
        Value::Array(array) => array
            .iter()
            .map(|entry| {
                let mut entry_table = as_table(list, entry)?;
                let name = name_of(entry, id)
                    .map(str::to_owned)
                    .ok_or_else(|| mistake(list, &format!("has an entry without \"{id}\"")))?;
                entry_table.remove(id);
                Ok((name, entry_table))
            })
            .collect(),
        _ => Err(mistake(list, "is neither a list of tables nor a table by name")),
    }
}

fn add(
    base: &mut Vec<Value>,
    (name, id): (&str, &str),
    change: &Table,
    (path, known): (&str, &[String]),
) -> Result<(), Problem> {
    if is_removal(&Value::Table(change.clone()), path)? {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(absent(path, name, &known));
    }
    let mut entry = Table::new();
    entry.insert(id.to_owned(), Value::String(name.to_owned()));
    entry.extend(change.clone());
    let entry = Value::Table(entry);
    let at = place_of_new(base, &entry, (id, known));
    base.insert(at, entry);
    Ok(())
}

/// Returns the position of a new entry. A rule goes before the rules of the file, because the first
/// match applies. A host tier goes before the array's tiers, and all other entries go to the end.
fn place_of_new(base: &[Value], entry: &Value, (id, known): (&str, &[String])) -> usize {
    if id == RULE_ID {
        let is_new = |each: &Value| name_of(each, id).is_none_or(|name| !is_known(known, name));
        return base.iter().take_while(|each| is_new(each)).count();
    }
    let in_host = |entry: &Value| entry.get("at").and_then(Value::as_str) == Some("host");
    if in_host(entry) { base.iter().take_while(|each| in_host(each)).count() } else { base.len() }
}

fn is_known(known: &[String], name: &str) -> bool {
    known.iter().any(|each| each == name)
}

fn change_entry(
    base: &mut Vec<Value>,
    (name, id): (&str, &str),
    change: &Table,
    path: &str,
) -> Result<(), Problem> {
    if is_removal(&Value::Table(change.clone()), path)? {
        base.retain(|entry| name_of(entry, id) != Some(name));
        return Ok(());
    }
    let mut same = base.iter_mut().filter(|entry| name_of(entry, id) == Some(name));
    let (first, second) = (same.next(), same.next());
    if second.is_some() {
        let help = "remove all of them, and add new ones with a second overlay";
        let message = "stands for several entries, so it cannot be changed";
        return Err(Problem { help: Some(help.to_owned()), ..mistake(path, message) });
    }
    match first {
        Some(Value::Table(entry)) => merge_table(entry, change, path),
        _ => Err(mistake(path, "is not a table in the array's file")),
    }
}
