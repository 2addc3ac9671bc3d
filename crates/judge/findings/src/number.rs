//! Conversion of numbers, tolerances and published values to text.

use spec::study::{Published, Tolerance};

use crate::document::ClaimResult;

/// Formats a number with at most four significant digits and grouped thousands.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 999.5 => 0,
        _ if size >= 99.95 => 1,
        _ if size >= 9.995 => 2,
        _ if size >= 0.01 || value == 0.0 => 3,
        _ => 6,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.as_str()
    };
    let text = if text == "-0" { "0" } else { text };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    format!("{sign}{}", grouped(digits))
}

fn grouped(digits: &str) -> String {
    let whole = digits.find('.').unwrap_or(digits.len());
    if whole < 4 {
        return digits.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && index < whole && (whole - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number; a dash for `None`.
pub fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), short)
}

/// Formats a share as a percentage; a dash for `None`.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Formats a published value.
pub fn published_text(published: &Published, unit: Option<&str>) -> String {
    let text = match published {
        Published::Text(words) => return words.clone(),
        Published::Number(number) => short(*number),
        Published::Range(low, high) => format!("{} to {}", short(*low), short(*high)),
    };
    with_unit(text, unit)
}

fn with_unit(text: String, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{text} {unit}"),
        None => text,
    }
}

/// Formats our value, with half the width of its interval.
pub fn ours(claim: &ClaimResult) -> String {
    let Some(ours) = claim.ours else { return "-".to_owned() };
    if matches!(claim.tolerance, Tolerance::Order(_)) {
        let holds = claim.repeats.iter().filter(|value| **value == Some(1.0)).count();
        let word = if claim.met { "so" } else { "not so" };
        return match claim.repeats.len() {
            0 | 1 => word.to_owned(),
            all => format!("{word} ({holds} of {all} runs)"),
        };
    }
    let half = claim.interval.as_ref().map(|each| (each.high - each.low) / 2.0);
    let spread = half
        .filter(|half| *half > 0.0)
        .map_or_else(String::new, |half| format!(" \u{b1} {}", short(half)));
    with_unit(format!("{}{spread}", short(ours)), claim.unit.as_deref())
}

/// Formats a tolerance.
pub fn tolerance_text(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Absolute(far) => format!("\u{b1} {}", short(far)),
        Tolerance::Relative(share) => format!("\u{b1} {share}"),
        Tolerance::Range(low, high) => format!("{} to {}", short(low), short(high)),
        Tolerance::AtLeast(low) => format!("at least {}", short(low)),
        Tolerance::AtMost(high) => format!("at most {}", short(high)),
        Tolerance::Order(_) => "order".to_owned(),
        Tolerance::Exact(_) => "exact".to_owned(),
    }
}

/// Formats the outcome of a claim, with its certainty.
pub fn met(claim: &ClaimResult) -> String {
    let words = claim.outcome.words();
    match (claim.met, claim.interval_inside) {
        (true, Some(false)) => format!("{words}, by the mean"),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_four_digits_at_most_and_no_idle_zeros() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (92.14, "92.14"),
            (0.3336, "0.334"),
            (-12.345, "-12.35"),
            (999.96, "1,000"),
            (1234.5, "1,234"),
            (200_000.0, "200,000"),
            (100.0, "100"),
            (0.00012, "0.00012"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
