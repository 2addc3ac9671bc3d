//! Search for the known name that is nearest to an unknown name.

/// Returns the known name nearest to `wanted`, if it is near enough to be a typing error: at most a
/// third of its letters differ (Damerau-Levenshtein), or one name is a prefix of the other.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&wanted, &lower);
            let begins =
                wanted.len() >= 3 && (lower.starts_with(&wanted) || wanted.starts_with(&lower));
            let near = distance <= (name.chars().count().max(3)) / 3;
            (near || begins).then_some((!near, distance, name))
        })
        .min_by_key(|(far, distance, _)| (*far, *distance))
        .map(|(_, _, name)| name)
}

/// Returns a help line with the nearest name, if any, and all known names. `what` is the plural of
/// their kind.
pub fn did_you_mean(wanted: &str, known: &[&str], what: &str) -> String {
    let list = match known {
        [] => format!("there are no {what} here"),
        [only] => format!("known {what}: {only}"),
        _ => format!("known {what}: {}", known.join(", ")),
    };
    match nearest(wanted, known.iter().copied()) {
        Some(name) => format!("did you mean \"{name}\"? {list}"),
        None => list,
    }
}

/// Returns the plural of a kind of name: `arrays`, `studies`, `kinds of disk`.
pub(crate) fn plural(what: &str) -> String {
    match what.split_once(' ') {
        Some(("kind", rest)) => format!("kinds {rest}"),
        _ if what.ends_with("ay") => format!("{what}s"),
        _ => what.strip_suffix('y').map_or(format!("{what}s"), |stem| format!("{stem}ies")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_of_a_study_are_studies() {
        assert_eq!(plural("shipped study"), "shipped studies");
        assert_eq!(plural("array"), "arrays");
        assert_eq!(plural("kind of disk"), "kinds of disk");
        assert_eq!(plural("tile"), "tiles");
    }

    #[test]
    fn a_slip_of_the_fingers_is_recognised_and_a_stranger_is_not() {
        assert_eq!(nearest("disc", ["size", "disk", "kind"]), Some("disk"));
        assert_eq!(nearest("datacentre", ["datacenter", "storage"]), Some("datacenter"));
        assert_eq!(nearest("data", ["datacenter", "storage"]), Some("datacenter"));
        assert_eq!(nearest("banana", ["datacenter", "storage"]), None);
    }
}
