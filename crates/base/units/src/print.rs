//! Numbers in sentences. The same number is formatted in the same way everywhere.

use crate::Nanos;
use crate::text::short;

/// Formats a number with as many digits as a reader compares. From 100 it is whole, with thousands
/// grouped (`18,400`); from 10 it has one decimal, and below 10 two. Zero is `0`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        grouped(&format!("{value:.0}"))
    } else if size >= 9.995 {
        short((value * 10.0).round() / 10.0)
    } else {
        short((value * 100.0).round() / 100.0)
    }
}

/// Formats a whole number with thousands grouped: `1,234,567`.
pub fn whole(value: u64) -> String {
    grouped(&value.to_string())
}

/// Formats a number with its noun: `1 tile`, `2 tiles`, `1,234 I/Os`.
pub fn count(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", whole(value), if value == 1 { "" } else { "s" })
}

/// Formats a rate of I/Os: `18,400 IOPS`.
pub fn iops(per_second: f64) -> String {
    format!("{} IOPS", number(per_second))
}

/// Formats a rate of bytes in binary units: `1.5 GiB/s`.
pub fn bytes_per_second(value: f64) -> String {
    const UNITS: [(&str, f64); 5] = [
        ("TiB/s", 1_099_511_627_776.0),
        ("GiB/s", 1_073_741_824.0),
        ("MiB/s", 1_048_576.0),
        ("KiB/s", 1024.0),
        ("B/s", 1.0),
    ];
    let (unit, size) = UNITS.iter().find(|(_, size)| value >= *size).unwrap_or(&UNITS[4]);
    format!("{} {unit}", number(value / size))
}

/// Formats a share of a whole as a percentage, with meaningful digits only: `71 %`, `3.2 %`, `under
/// 0.1 %`, `over 99.9 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        "under 0.1 %".to_owned()
    } else if percent > 99.95 && percent < 100.0 {
        "over 99.9 %".to_owned()
    } else if percent.abs() < 9.95 || (percent > 99.0 && percent < 100.0) {
        format!("{} %", short((percent * 10.0).round() / 10.0))
    } else {
        format!("{percent:.0} %")
    }
}

/// Ratio, upwards or downwards, from which a change is printed as a factor. `+12064.9 %` and `-99.2
/// %` are harder to read than `122x` and `1/122`. From about 3, a reader multiplies instead of
/// adding.
pub const FACTOR_FROM: f64 = 3.0;

/// Formats a relative change (`0.05` is 5 % more, `-1` is a fall to zero) with its sign: `+10.0 %`.
/// An increase above [`FACTOR_FROM`] is `121x`; a decrease below its inverse is `1/12`. A fall to
/// zero or below is a percentage, because no factor expresses it. All comparisons use this rule;
/// the web page has the same rule in `web/src/lib/format.ts`.
pub fn change(change: f64) -> String {
    let ratio = 1.0 + change;
    if ratio > FACTOR_FROM {
        format!("{}x", factor(ratio))
    } else if ratio > 0.0 && ratio.recip() > FACTOR_FROM {
        format!("1/{}", factor(ratio.recip()))
    } else {
        let text = format!("{:+.1} %", change * 100.0);
        if text == "-0.0 %" { "+0.0 %".to_owned() } else { text }
    }
}

/// Formats a factor: with one decimal below ten, without decimals above.
fn factor(ratio: f64) -> String {
    if ratio < 9.95 {
        short((ratio * 10.0).round() / 10.0)
    } else {
        grouped(&format!("{ratio:.0}"))
    }
}

/// Formats a time approximately: `less than 1 min`, `about 4 min`, `about 3 h`.
pub fn about(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    match seconds {
        0..=44 => "less than 1 min".to_owned(),
        45..=7_199 => format!("about {} min", (seconds + 30) / 60),
        _ => format!("about {} h", (seconds + 1_800) / 3_600),
    }
}

/// Formats a time of a run like a clock, with minutes first: `00:41`, `1:02:07`, `00:41.5`.
pub fn clock(time: Nanos) -> String {
    let millis = time.0 / 1_000_000;
    let (hours, minutes, seconds) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    let text = if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    };
    match millis % 1000 {
        0 => text,
        part => format!("{text}.{part:03}").trim_end_matches('0').to_owned(),
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_guessed_is_not_told_to_the_second() {
        let told = |seconds| about(Nanos::from_secs(seconds));
        assert_eq!(told(44), "less than 1 min");
        assert_eq!(told(45), "about 1 min");
        assert_eq!(told(130), "about 2 min");
        assert_eq!(told(7_199), "about 120 min");
        assert_eq!(told(9_100), "about 3 h");
    }

    #[test]
    fn numbers_are_grouped_and_small_ones_keep_decimals() {
        for (value, text) in [
            (1_234_567.0, "1,234,567"),
            (-1_234.0, "-1,234"),
            (99.96, "100"),
            (12.34, "12.3"),
            (9.996, "10"),
            (0.987, "0.99"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(count(1, "tile"), "1 tile");
        assert_eq!(count(2_400, "I/O"), "2,400 I/Os");
    }

    #[test]
    fn a_share_is_never_rounded_to_nothing_or_to_all() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.0001, "under 0.1 %"),
            (0.0316, "3.2 %"),
            (0.714, "71 %"),
            (0.9994, "99.9 %"),
            (0.99996, "over 99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    /// The same cases are in `web/tests/unit/format.test.ts`.
    #[test]
    fn a_large_change_is_a_factor_and_a_small_one_a_percentage() {
        for (value, text) in [
            (0.0, "+0.0 %"),
            (-0.000_01, "+0.0 %"),
            (0.18, "+18.0 %"),
            (-0.031, "-3.1 %"),
            (2.0, "+200.0 %"),
            (2.4, "3.4x"),
            (8.96, "10x"),
            (120.649, "122x"),
            (12_063.9, "12,065x"),
            (-0.5, "-50.0 %"),
            (-0.7, "1/3.3"),
            (-0.917, "1/12"),
            (-1.0, "-100.0 %"),
            (-1.5, "-150.0 %"),
        ] {
            assert_eq!(change(value), text, "{value}");
        }
    }

    #[test]
    fn rates_and_times_have_their_unit() {
        assert_eq!(iops(18_400.4), "18,400 IOPS");
        assert_eq!(bytes_per_second(1_610_612_736.0), "1.5 GiB/s");
        assert_eq!(bytes_per_second(0.0), "0 B/s");
        assert_eq!(clock(Nanos::from_secs(41)), "00:41");
        assert_eq!(clock(Nanos::from_millis(3_727_500)), "1:02:07.5");
    }
}
