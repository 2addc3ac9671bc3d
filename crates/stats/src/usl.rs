//! The universal scalability law, fitted to throughput over load.

/// A fitted law `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))` (Gunther 2007,
/// "Guerrilla Capacity Planning", chapters 4 to 6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalabilityLaw {
    /// Throughput of one, in the unit of the throughputs.
    pub lambda: f64,
    /// Contention: the share that is serial, zero or more.
    pub sigma: f64,
    /// Coherency: cost per pair, zero or more. Above zero the curve falls after its peak.
    pub kappa: f64,
}

/// One measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Tiles, users or processors; above zero.
    pub load: f64,
    /// Throughput at that load; above zero.
    pub throughput: f64,
}

impl ScalabilityLaw {
    /// Throughput at some load.
    pub fn throughput(&self, load: f64) -> f64 {
        self.lambda * load / self.denominator(load)
    }

    fn denominator(&self, load: f64) -> f64 {
        1.0 + self.sigma * (load - 1.0) + self.kappa * load * (load - 1.0)
    }

    /// The load of the highest throughput, `sqrt((1 - sigma) / kappa)` (Gunther 2007,
    /// equation 4.33). Nothing if the curve only rises, or falls from the start.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }

    /// Fits by least squares of the throughputs: first the linear form
    /// `N / X = a + b (N - 1) + c N (N - 1)` (Gunther 2007, section 5.2), then Gauss-Newton
    /// steps from there, halved while they do not improve. Negative coefficients have no
    /// meaning and are held at zero while the others are fitted.
    ///
    /// Nothing with fewer than three different loads, or values that are not above zero.
    pub fn fit(points: &[LoadPoint]) -> Option<Self> {
        let mut loads: Vec<f64> = points.iter().map(|p| p.load).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        let valid = |v: f64| v > 0.0 && v.is_finite();
        if loads.len() < 3 || !points.iter().all(|p| valid(p.load) && valid(p.throughput)) {
            return None;
        }
        [[true, true], [true, false], [false, true], [false, false]]
            .into_iter()
            .filter_map(|free| Self::fit_free(points, free))
            .filter(|law| law.sigma >= 0.0 && law.kappa >= 0.0)
            .min_by(|a, b| a.squares(points).total_cmp(&b.squares(points)))
    }

    /// Fits `lambda` and those of `sigma` and `kappa` that are free; the others are zero.
    fn fit_free(points: &[LoadPoint], free: [bool; 2]) -> Option<Self> {
        let mask = [true, free[0], free[1]];
        let start = solve_least_squares(
            points.iter().map(|p| {
                let n = p.load;
                ([1.0, n - 1.0, n * (n - 1.0)], n / p.throughput)
            }),
            mask,
        )?;
        if start[0] <= 0.0 {
            return None;
        }
        let mut law =
            Self { lambda: 1.0 / start[0], sigma: start[1] / start[0], kappa: start[2] / start[0] };
        for _ in 0..100 {
            let Some(better) = law.improve(points, mask) else { break };
            law = better;
        }
        Some(law)
    }

    /// One Gauss-Newton step; nothing if none of its halves lowers the squares.
    fn improve(&self, points: &[LoadPoint], mask: [bool; 3]) -> Option<Self> {
        let rows = points.iter().map(|p| {
            let (n, denominator) = (p.load, self.denominator(p.load));
            let x = self.throughput(n);
            let by = |weight: f64| -x * weight / denominator;
            ([n / denominator, by(n - 1.0), by(n * (n - 1.0))], p.throughput - x)
        });
        let step = solve_least_squares(rows, mask)?;
        let now = self.squares(points);
        (0..30)
            .map(|halvings| 0.5_f64.powi(halvings))
            .map(|share| Self {
                lambda: self.lambda + share * step[0],
                sigma: self.sigma + share * step[1],
                kappa: self.kappa + share * step[2],
            })
            .find(|law| law.lambda > 0.0 && law.squares(points) < now * (1.0 - 1e-15))
    }

    /// Sum of squared differences between measured and fitted throughput.
    fn squares(&self, points: &[LoadPoint]) -> f64 {
        points
            .iter()
            .map(|p| {
                // A pole between the points is no law of anything.
                if self.denominator(p.load) <= 0.0 {
                    return f64::INFINITY;
                }
                (p.throughput - self.throughput(p.load)).powi(2)
            })
            .sum()
    }

    /// Share of the throughputs' variance that the law explains, `1 - SSE / SST`; at most 1.
    /// Nothing if they do not vary.
    pub fn determination(&self, points: &[LoadPoint]) -> Option<f64> {
        let throughputs: Vec<f64> = points.iter().map(|p| p.throughput).collect();
        let mean = crate::summary::mean(&throughputs)?;
        let total: f64 = throughputs.iter().map(|x| (x - mean).powi(2)).sum();
        (total > 0.0).then(|| 1.0 - self.squares(points) / total)
    }
}

/// Least squares with up to three columns, those not in the mask held at zero, by normal
/// equations with columns scaled to unit length. Nothing if the columns are dependent.
fn solve_least_squares(
    rows: impl Iterator<Item = ([f64; 3], f64)> + Clone,
    mask: [bool; 3],
) -> Option<[f64; 3]> {
    let mut scale = [0.0_f64; 3];
    for (columns, _) in rows.clone() {
        for i in 0..3 {
            scale[i] += columns[i] * columns[i];
        }
    }
    let scale = scale.map(f64::sqrt);
    let mut system = [[0.0; 4]; 3];
    for (columns, target) in rows {
        for i in 0..3 {
            for j in 0..3 {
                system[i][j] += columns[i] / scale[i] * columns[j] / scale[j];
            }
            system[i][3] += columns[i] / scale[i] * target;
        }
    }
    for i in 0..3 {
        if !mask[i] {
            (0..3).for_each(|row| system[row][i] = 0.0);
            system[i] = [0.0; 4];
            system[i][i] = 1.0;
        }
    }
    let found = solve(system)?;
    Some([found[0] / scale[0], found[1] / scale[1], found[2] / scale[2]])
}

/// Gaussian elimination with partial pivoting.
fn solve(mut m: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|a, b| m[*a][column].abs().total_cmp(&m[*b][column].abs()))?;
        m.swap(column, pivot);
        let lead = m[column];
        if lead[column].is_nan() || lead[column].abs() < 1e-13 {
            return None;
        }
        for (row, values) in m.iter_mut().enumerate() {
            if row != column {
                let factor = values[column] / lead[column];
                values.iter_mut().zip(lead).for_each(|(v, l)| *v -= factor * l);
            }
        }
    }
    Some([m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(pairs: &[(f64, f64)]) -> Vec<LoadPoint> {
        pairs
            .iter()
            .map(|(load, throughput)| LoadPoint { load: *load, throughput: *throughput })
            .collect()
    }

    /// SPEC SDM91 on a SPARCcenter 2000 (Gunther 2007, section 5.5), with the coefficients
    /// that the R package `usl` prints for it: 89.9952382, 0.0277285, 0.0001044, peak 96.5.
    #[test]
    fn the_spec_sdm_data_give_the_printed_coefficients() {
        let measured = points(&[
            (1.0, 64.9),
            (18.0, 995.9),
            (36.0, 1652.4),
            (72.0, 1853.2),
            (108.0, 1828.9),
            (144.0, 1775.0),
            (216.0, 1702.2),
        ]);
        let law = ScalabilityLaw::fit(&measured).expect("enough points");
        assert!((law.lambda - 89.995).abs() < 0.01, "{law:?}");
        assert!((law.sigma - 0.027_728_5).abs() < 1e-5, "{law:?}");
        assert!((law.kappa - 0.000_104_4).abs() < 1e-6, "{law:?}");
        assert!((law.peak().expect("retrograde") - 96.5).abs() < 0.2);
        assert!(law.determination(&measured).expect("varies") > 0.98);
    }

    #[test]
    fn a_curve_that_never_falls_has_no_coherency_cost() {
        let measured: Vec<LoadPoint> = (1..10)
            .map(f64::from)
            .map(|load| LoadPoint { load, throughput: 10.0 * load / (1.0 + 0.1 * (load - 1.0)) })
            .collect();
        let law = ScalabilityLaw::fit(&measured).expect("enough points");
        assert!((law.sigma - 0.1).abs() < 1e-6 && law.kappa < 1e-9, "{law:?}");
    }

    #[test]
    fn better_than_linear_growth_is_fitted_without_negative_costs() {
        let measured = points(&[(1.0, 10.0), (2.0, 22.0), (3.0, 35.0), (4.0, 50.0)]);
        let law = ScalabilityLaw::fit(&measured).expect("enough points");
        assert!(law.sigma >= 0.0 && law.kappa >= 0.0 && law.peak().is_none(), "{law:?}");
    }

    #[test]
    fn two_points_are_not_a_law() {
        assert_eq!(ScalabilityLaw::fit(&points(&[(1.0, 10.0), (2.0, 18.0)])), None);
        assert_eq!(ScalabilityLaw::fit(&points(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)])), None);
    }

    proptest! {
        #[test]
        fn a_law_is_found_again_from_its_own_points(
            lambda in 1.0_f64..1000.0, sigma in 0.0_f64..0.3, kappa in 0.0001_f64..0.05
        ) {
            let law = ScalabilityLaw { lambda, sigma, kappa };
            let exact: Vec<LoadPoint> = [1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0]
                .map(|load| LoadPoint { load, throughput: law.throughput(load) })
                .to_vec();
            let found = ScalabilityLaw::fit(&exact).expect("enough points");
            prop_assert!((found.lambda / lambda - 1.0).abs() < 1e-4, "{found:?}");
            prop_assert!((found.sigma - sigma).abs() < 1e-3, "{found:?}");
            prop_assert!((found.kappa - kappa).abs() < 1e-3 * kappa.max(0.01), "{found:?}");
        }

        #[test]
        fn throughput_is_highest_at_the_peak(
            sigma in 0.0_f64..0.9, kappa in 0.0001_f64..0.05, away in 0.5_f64..1.5
        ) {
            let law = ScalabilityLaw { lambda: 1.0, sigma, kappa };
            let peak = law.peak().expect("retrograde");
            prop_assert!(law.throughput(peak) >= law.throughput(peak * away));
        }
    }
}
