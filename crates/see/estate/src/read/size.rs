//! Units of sizes and rates, after a number or in a heading. A hypervisor's KB, MB and GB are
//! powers of 1,024: VMware changed its headings from MB to MiB, but the numbers stayed the same.

/// Prefixes of powers of 1,024, starting with 1,024 itself.
const PREFIXES: [char; 6] = ['k', 'm', 'g', 't', 'p', 'e'];

/// Parses a unit, and returns its bytes or bytes per second: `GB`, `GiB`, `Go`, `G`, `MB/s`,
/// `KBps`, `bytes`.
pub(super) fn unit(text: &str) -> Option<f64> {
    let text = text.trim();
    let whole = ["/second", "/sec", "/s"].iter().find_map(|end| text.strip_suffix(end));
    // Mbps with a small b is bits.
    let whole = whole.or_else(|| text.strip_suffix("Bps").map(|_| &text[..text.len() - 2]));
    let lower = whole.unwrap_or(text).trim_end().to_lowercase();
    if ["b", "byte", "bytes", "o", "octet", "octets"].contains(&lower.as_str()) {
        return Some(1.0);
    }
    let mut letters = lower.chars();
    let power = PREFIXES.iter().position(|own| Some(*own) == letters.clone().next())?;
    letters.next();
    let rest = letters.as_str();
    let is_unit = ["", "i", "b", "ib", "o", "io"].contains(&rest);
    is_unit.then(|| 1024_f64.powi(i32::try_from(power + 1).unwrap_or(0)))
}

/// Splits a text into number and unit, such as `1,024.50` and `GB`.
pub(super) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_unit = |letter: char| letter.is_alphabetic() || letter == '%';
    // The E of an exponent has a digit before it and a number after it.
    let exponent = |at: usize| {
        let rest = text[at + 1..].trim_start_matches(['+', '-']);
        text[at..].starts_with(['e', 'E'])
            && text[..at].ends_with(|own: char| own.is_ascii_digit())
            && rest.starts_with(|own: char| own.is_ascii_digit())
    };
    let at = text.char_indices().find(|(at, letter)| is_unit(*letter) && !exponent(*at));
    let (number, unit) = text.split_at(at.map_or(text.len(), |(at, _)| at));
    (number.trim_end(), unit.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_hypervisors_are_powers_of_1024() {
        for (text, bytes) in [
            ("GB", Some(1_073_741_824.0)),
            ("GiB", Some(1_073_741_824.0)),
            ("Go", Some(1_073_741_824.0)),
            ("M", Some(1_048_576.0)),
            ("MB/s", Some(1_048_576.0)),
            ("KBps", Some(1024.0)),
            ("Bytes", Some(1.0)),
            ("B", Some(1.0)),
            ("Mbps", None),
            ("GHz", None),
            ("", None),
        ] {
            assert_eq!(unit(text), bytes, "{text}");
        }
    }

    #[test]
    fn number_and_unit_of_a_cell_are_told_apart() {
        assert_eq!(split("1,024.50 GB"), ("1,024.50", "GB"));
        assert_eq!(split("1.5e+07"), ("1.5e+07", ""));
        assert_eq!(split("40GiB"), ("40", "GiB"));
        assert_eq!(split("70 %"), ("70", "%"));
        assert_eq!(split("N/A"), ("", "N/A"));
    }
}
