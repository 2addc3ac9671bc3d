/// Result of a minimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Coordinates of the lowest cost found.
    pub place: Vec<f64>,
    /// Cost at these coordinates.
    pub cost: f64,
    /// Number of points at which the cost was evaluated.
    pub evaluations: u32,
}

/// Corner of the simplex: its coordinates and its cost.
type Corner = (Vec<f64>, f64);

/// Finds a minimum of the cost near `start`, without derivatives. It uses the simplex method of
/// Nelder and Mead (Computer Journal 7, 1965) with their coefficients 1, 2, 1/2 and 1/2. It ends
/// when the costs of all corners are equal within `tolerance`, or after `evaluations_max`
/// evaluations. The result is deterministic.
pub fn minimise(
    start: &[f64],
    step: f64,
    (evaluations_max, tolerance): (u32, f64),
    cost: &mut dyn FnMut(&[f64]) -> f64,
) -> Minimum {
    let mut evaluations = 0;
    let mut at = |place: Vec<f64>| {
        evaluations += 1;
        let cost = cost(&place);
        (place, if cost.is_nan() { f64::INFINITY } else { cost })
    };
    let mut corners: Vec<Corner> = vec![at(start.to_vec())];
    for axis in 0..start.len() {
        let mut place = start.to_vec();
        place[axis] += step;
        corners.push(at(place));
    }
    let mut spent = corners.len();
    while spent < evaluations_max as usize {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = corners.len() - 1;
        if corners[worst].1 - corners[0].1 <= tolerance {
            break;
        }
        spent += step_once(&mut corners, &mut at);
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (place, cost) = corners.swap_remove(0);
    Minimum { place, cost, evaluations }
}

/// Moves the worst corner, or shrinks the simplex. Returns the number of evaluated points.
fn step_once(corners: &mut [Corner], at: &mut dyn FnMut(Vec<f64>) -> Corner) -> usize {
    let worst = corners.len() - 1;
    let centre = centre(&corners[..worst]);
    let towards = |factor: f64, from: &[f64]| -> Vec<f64> {
        centre.iter().zip(from).map(|(c, w)| c + factor * (c - w)).collect()
    };
    let reflected = at(towards(1.0, &corners[worst].0));
    if reflected.1 < corners[0].1 {
        let further = at(towards(2.0, &corners[worst].0));
        corners[worst] = if further.1 < reflected.1 { further } else { reflected };
        return 2;
    }
    if reflected.1 < corners[worst - 1].1 {
        corners[worst] = reflected;
        return 1;
    }
    let half = if reflected.1 < corners[worst].1 { 0.5 } else { -0.5 };
    let between = at(towards(half, &corners[worst].0));
    if between.1 < corners[worst].1.min(reflected.1) {
        corners[worst] = between;
        return 2;
    }
    let best = corners[0].0.clone();
    for corner in &mut corners[1..] {
        let place = best.iter().zip(&corner.0).map(|(b, c)| b + 0.5 * (c - b)).collect();
        *corner = at(place);
    }
    2 + worst
}

fn centre(corners: &[Corner]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a handful of corners")]
    let count = corners.len() as f64;
    let axes = corners[0].0.len();
    (0..axes)
        .map(|axis| corners.iter().map(|(place, _)| place[axis]).sum::<f64>() / count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, the example in Nelder and Mead's paper: the start is (-1.2, 1), the
    /// minimum (1, 1).
    #[test]
    fn the_end_of_the_curved_valley_is_found() {
        let mut cost = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
        let found = minimise(&[-1.2, 1.0], 0.5, (500, 1e-12), &mut cost);
        assert!(found.cost < 1e-8 && found.evaluations < 400, "{found:?}");
        assert!(found.place.iter().all(|x| (x - 1.0).abs() < 1e-3), "{found:?}");
    }

    #[test]
    fn a_place_without_a_cost_is_avoided() {
        let mut cost = |x: &[f64]| if x[0] < 1.0 { f64::NAN } else { x[0] };
        let found = minimise(&[5.0], 1.0, (200, 1e-9), &mut cost);
        assert!((found.cost - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_number_of_evaluations_is_bounded() {
        let mut count = 0;
        let mut cost = |x: &[f64]| {
            count += 1;
            x.iter().map(|x| (x - 3.0).abs()).sum::<f64>()
        };
        let found = minimise(&[0.0; 6], 0.1, (40, 0.0), &mut cost);
        assert!(count <= 40 + 8 && found.evaluations == count);
    }
}
