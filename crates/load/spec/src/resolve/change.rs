//! Changes of a definition: tables merge key by key, and lists of named tables merge by name.

use toml::{Table, Value};

/// Merges a change into a table.
///
/// A list whose entries are all tables with a `name` is changed by a list of such tables, or by a
/// table of tables keyed by name. A new name adds an entry. Any other value replaces the old one.
pub(super) fn lay_over(base: &mut Table, change: &Table) {
    for (key, new) in change {
        match (base.get_mut(key), new) {
            (Some(Value::Table(old)), Value::Table(new)) => lay_over(old, new),
            (Some(Value::Array(old)), _) if is_named(old) && named(new).is_some() => {
                for (name, entry) in named(new).unwrap_or_default() {
                    lay_entry(old, &name, &entry);
                }
            }
            _ => {
                base.insert(key.clone(), new.clone());
            }
        }
    }
}

fn lay_entry(list: &mut Vec<Value>, name: &str, change: &Table) {
    let same = |entry: &&mut Value| name_of(entry) == Some(name);
    if let Some(Value::Table(entry)) = list.iter_mut().find(same) {
        return lay_over(entry, change);
    }
    let mut entry = Table::new();
    entry.insert("name".to_owned(), Value::String(name.to_owned()));
    entry.extend(change.clone());
    list.push(Value::Table(entry));
}

fn is_named(list: &[Value]) -> bool {
    list.iter().all(|entry| name_of(entry).is_some())
}

/// Returns the entries of a list's change, with their names; `None` if it has another form.
fn named(change: &Value) -> Option<Vec<(String, Table)>> {
    match change {
        Value::Table(by_name) => by_name
            .iter()
            .map(|(name, entry)| Some((name.clone(), entry.as_table()?.clone())))
            .collect(),
        Value::Array(list) => list
            .iter()
            .map(|entry| Some((name_of(entry)?.to_owned(), entry.as_table()?.clone())))
            .collect(),
        _ => None,
    }
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(base: &str, change: &str) -> Table {
        let mut base: Table = toml::from_str(base).expect("TOML");
        lay_over(&mut base, &toml::from_str(change).expect("TOML"));
        base
    }

    #[test]
    fn a_key_changes_and_its_neighbours_stay() {
        let base =
            "a = { x = 1, y = 2 }\nlist = [{ name = \"p\", n = 1, m = 1 }, { name = \"q\" }]";
        let expected = "a = { x = 1, y = 3 }\n\
                        list = [{ name = \"p\", n = 5, m = 1 }, { name = \"q\" }, { name = \"r\" }]";
        for change in
            ["list.p.n = 5\nlist.r = {}", "list = [{ name = \"p\", n = 5 }, { name = \"r\" }]"]
        {
            let found = laid(base, &format!("a.y = 3\n{change}"));
            assert_eq!(found, toml::from_str(expected).expect("TOML"));
        }
    }

    #[test]
    fn a_list_without_names_is_replaced() {
        let found = laid("steps = [{ cpu = \"1ms\" }]", "steps = [{ cpu = \"2ms\" }]");
        assert_eq!(found, toml::from_str("steps = [{ cpu = \"2ms\" }]").expect("TOML"));
    }
}
