//! Comparison of our value with the published one.

use spec::study::{Published, Tolerance};

/// Slack of bounds, as a share of their size, so that rounding errors do not decide.
const SLACK: f64 = 1e-9;

/// Returns the lowest and highest value within the tolerance; `None` if the published value is
/// text.
pub(super) fn bounds(published: &Published, tolerance: Tolerance) -> Option<(f64, f64)> {
    let (low, high) = match tolerance {
        Tolerance::Absolute(far) => {
            let (low, high) = published.bounds()?;
            (low - far, high + far)
        }
        Tolerance::Relative(share) => {
            let (low, high) = published.bounds()?;
            (low - low.abs() * share.get(), high + high.abs() * share.get())
        }
        Tolerance::Exact(_) => published.bounds()?,
        Tolerance::Range(low, high) => (low, high),
        Tolerance::AtLeast(low) => (low, f64::INFINITY),
        Tolerance::AtMost(high) => (f64::NEG_INFINITY, high),
        Tolerance::Order(_) => (1.0, 1.0),
    };
    Some((low, high))
}

/// Returns true if a value is within the bounds. Bounds are inclusive.
pub(super) fn is_inside(value: f64, (low, high): (f64, f64)) -> bool {
    let slack =
        |bound: f64| if bound.is_finite() { bound.abs().max(value.abs()) * SLACK } else { 0.0 };
    value >= low - slack(low) && value <= high + slack(high)
}

#[cfg(test)]
mod tests {
    use units::Ratio;

    use super::*;

    fn met(published: Published, tolerance: Tolerance, ours: f64) -> bool {
        is_inside(ours, bounds(&published, tolerance).expect("bounds"))
    }

    #[test]
    fn a_bound_belongs_to_what_is_allowed() {
        let number = || Published::Number(26.0);
        for (tolerance, inside, outside) in [
            (Tolerance::Absolute(5.0), [21.0, 31.0], [20.99, 31.01]),
            (Tolerance::Relative(Ratio::new(0.1)), [23.4, 28.6], [23.39, 28.61]),
            (Tolerance::Range(3.0, 5.0), [3.0, 5.0], [2.99, 5.01]),
            (Tolerance::AtLeast(98.0), [98.0, 1e9], [97.99, 0.0]),
            (Tolerance::AtMost(25.0), [25.0, -1e9], [25.01, 1e9]),
            (Tolerance::Exact(true), [26.0, 26.0], [25.99, 26.01]),
            (Tolerance::Order(true), [1.0, 1.0], [0.0, 0.5]),
        ] {
            for ours in inside {
                assert!(met(number(), tolerance, ours), "{tolerance:?} {ours}");
            }
            for ours in outside {
                assert!(!met(number(), tolerance, ours), "{tolerance:?} {ours}");
            }
        }
    }

    #[test]
    fn a_range_is_left_on_either_side() {
        let range = || Published::Range(320.0, 330.0);
        assert!(met(range(), Tolerance::Relative(Ratio::new(0.02)), 313.6));
        assert!(met(range(), Tolerance::Relative(Ratio::new(0.02)), 336.6));
        assert!(!met(range(), Tolerance::Relative(Ratio::new(0.02)), 313.0));
        assert!(met(range(), Tolerance::Exact(true), 325.0));
    }

    #[test]
    fn rounding_does_not_decide() {
        let tenth = 0.1 + 0.2;
        assert!(met(Published::Number(0.3), Tolerance::Exact(true), tenth));
        assert!(met(Published::Number(0.0), Tolerance::Absolute(0.3), tenth));
        assert!(met(Published::Number(-100.0), Tolerance::Relative(Ratio::new(0.1)), -110.0));
    }
}
