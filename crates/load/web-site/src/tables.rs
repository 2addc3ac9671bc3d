//! Tables of the site.

use crate::Sizes;

/// Role of the database that owns the tables, and as which the site opens its sessions.
pub const ROLE: &str = "site";
/// Sessions of the site. Pages wait for a free one, as in a site with a pool.
pub const SESSIONS: u32 = 8;

const SCRIPT: &str = include_str!("site.sql");

/// Statements that make the tables, one text each.
pub fn statements(sizes: Sizes, seed: u64) -> Vec<String> {
    // PostgreSQL takes a seed from -1 to 1.
    #[expect(clippy::cast_precision_loss, reason = "any number in the range is a seed")]
    let seed = (seed >> 11) as f64 / (1_u64 << 53) as f64;
    let lines = SCRIPT.lines().filter(|line| !line.starts_with("--"));
    let script = lines.fold(String::new(), |script, line| script + line + "\n");
    let script = script
        .replace("PERSONS", &sizes.persons.to_string())
        .replace("TAGS", &sizes.tags.to_string())
        .replace("EVENTS", &sizes.events.to_string())
        .replace("SEED", &format!("{seed:.17}"));
    let texts = script.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_numbers_of_the_site() {
        let sizes = Sizes { persons: 40_000, tags: 4_820, events: 14_460 };
        let all = statements(sizes, 1 << 63);
        assert_eq!(all.first().map(String::as_str), Some("SELECT setseed(0.50000000000000000)"));
        let all = all.join("\n");
        for part in [
            "(1, 40000) n",
            "(1, 4820) n",
            "(1, 14460) n",
            "setval('event_id', 14460)",
            "START WITH 14460",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        for word in ["PERSONS", "TAGS", "EVENTS", "SEED", "--"] {
            assert!(!all.contains(word), "{word}: {all}");
        }
        assert_ne!(statements(sizes, 1 << 62)[0], statements(sizes, 1 << 63)[0]);
    }
}
