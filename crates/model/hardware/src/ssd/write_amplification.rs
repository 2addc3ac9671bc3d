//! Ratio of the bytes that a flash device writes to the bytes written to it by the host.

/// Calculates the principal branch of Lambert's W: `w exp(w) = x` with `w >= -1`, for `x >= -1/e`;
/// not-a-number below.
///
/// It uses Halley's iteration (Corless et al. 1996, section 5), starting from the series at the
/// branch point or from the logarithm.
pub fn lambert_w0(x: f64) -> f64 {
    let branch = -1.0 / core::f64::consts::E;
    if x.is_nan() || x < branch {
        return f64::NAN;
    }
    let p = libm::sqrt((2.0 * (core::f64::consts::E * x + 1.0)).max(0.0));
    if p == 0.0 {
        return -1.0;
    }
    let mut w =
        if x < 1.0 { -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p * p * p } else { libm::log(x) };
    for _ in 0..64 {
        let e = libm::exp(w);
        let f = w * e - x;
        let slope = e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0);
        let step = f / slope;
        if !step.is_finite() {
            break;
        }
        w -= step;
        if step.abs() <= 1e-15 * (1.0 + w.abs()) {
            break;
        }
    }
    w
}

/// Calculates the write amplification of uniform random writes under greedy garbage collection, for
/// spare flash as a share of the usable size, above zero: `-(1 + s) / (-(1 + s) - W(-(1 + s)
/// exp(-(1 + s))))` (Luojie and Kurkoski, arXiv 1110.4245, for many pages per block). It tends to 1
/// with much spare flash, and grows without bound with little. It is infinite for no spare flash.
pub fn write_amplification_greedy(spare: f64) -> f64 {
    let a = 1.0 + spare.max(0.0);
    let w = lambert_w0(-a * libm::exp(-a));
    if spare <= 0.0 { f64::INFINITY } else { a / (a + w) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w_is_the_inverse_it_is_defined_as() {
        for x in [-0.367, -0.3, -0.1, 0.0, 0.5, 1.0, 10.0, 1e6] {
            let w = lambert_w0(x);
            assert!((w * w.exp() - x).abs() < 1e-12 * (1.0 + x.abs()), "W({x}) = {w}");
            assert!(w >= -1.0);
        }
        assert!((lambert_w0(1.0) - 0.567_143_290_409_783_8).abs() < 1e-14, "the omega constant");
        assert!(lambert_w0(-0.4).is_nan());
    }

    /// The paper has 2.36 for a spare share of 0.3 (2.35 in its simulation).
    #[test]
    fn write_amplification_has_the_values_of_the_paper() {
        for (spare, amplification) in
            [(0.07, 7.8), (0.12, 4.8), (0.28, 2.5), (0.3, 2.36), (0.5, 1.7)]
        {
            let found = write_amplification_greedy(spare);
            assert!((found - amplification).abs() < 0.055, "{spare}: {found}");
        }
    }

    #[test]
    fn more_spare_flash_never_amplifies_more() {
        let values: Vec<f64> =
            (1..200).map(|step| write_amplification_greedy(f64::from(step) / 50.0)).collect();
        assert!(values.windows(2).all(|pair| pair[1] < pair[0] && pair[1] > 1.0));
        assert!(write_amplification_greedy(0.0).is_infinite());
    }

    /// Cleaning blocks with a share `v` of valid pages writes `1 / (1 - v)` pages per page. The
    /// closed form must be its own fixed point: `v = exp(-(1 - v) (1 + s))`.
    #[test]
    fn the_share_of_valid_pages_is_its_own_fixed_point() {
        for spare in [0.1, 0.3, 1.0] {
            let valid = 1.0 - 1.0 / write_amplification_greedy(spare);
            let again = (-(1.0 - valid) * (1.0 + spare)).exp();
            assert!((valid - again).abs() < 1e-9, "{valid} {again}");
        }
    }
}
