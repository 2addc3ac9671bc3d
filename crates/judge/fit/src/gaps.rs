//! Interarrival times as a mixture of exponentials.

use units::Nanos;

use super::arrival::rounded;

/// Number of rounds of expectation and maximisation.
const ROUNDS: u32 = 100;
/// Minimum weight of a component that is kept.
const LIGHT: f64 = 0.002;

/// Returns the Kolmogorov-Smirnov statistic of interarrival times against an exponential
/// distribution.
pub(super) fn poisson_distance(gaps: &[f64], mean: f64) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let distance = |(at, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap / mean).exp();
        (expected - at as f64 / count).abs().max((expected - (at + 1) as f64 / count).abs())
    };
    sorted.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// Fits a mixture of exponentials, by expectation and maximisation (Dempster, Laird and Rubin 1977)
/// over a histogram with ten bins per power of ten. It starts with one component per power of ten.
/// Every round keeps the mean of the interarrival times.
pub(super) fn mixture(gaps: &[f64]) -> Vec<(Nanos, f64)> {
    let parts = parts(gaps);
    let (first, last) = (parts[0].0.log10().floor(), parts[parts.len() - 1].0.log10().ceil());
    let mut components: Vec<(f64, f64)> = Vec::new();
    let mut at = first;
    while at <= last {
        components.push((10.0_f64.powf(at), 1.0));
        at += 1.0;
    }
    for _ in 0..ROUNDS {
        components = improved(&components, &parts);
    }
    components.retain(|(_, weight)| *weight >= LIGHT);
    let mut mix: Vec<(Nanos, f64)> = Vec::new();
    for (mean, weight) in components {
        let gap = rounded(Nanos::from_secs_f64(mean)).max(Nanos(1));
        match mix.iter_mut().find(|(known, _)| *known == gap) {
            Some(known) => known.1 += weight,
            None => mix.push((gap, weight)),
        }
    }
    mix.iter_mut().for_each(|(_, weight)| *weight = (*weight * 1e4).round() / 100.0);
    mix
}

/// Returns the histogram as means and counts, ascending.
fn parts(gaps: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut parts: Vec<(f64, f64, f64)> = Vec::new();
    for gap in sorted {
        let part = (gap.log10() * 10.0).floor();
        match parts.last_mut().filter(|(known, ..)| *known >= part) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + gap, *count + 1.0),
            None => parts.push((part, gap, 1.0)),
        }
    }
    parts.into_iter().map(|(_, sum, count)| (sum / count, count)).collect()
}

fn improved(components: &[(f64, f64)], parts: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); components.len()];
    for (gap, count) in parts {
        let density = |(mean, weight): &(f64, f64)| weight / mean * (-gap / mean).exp().max(1e-300);
        let all: f64 = components.iter().map(density).sum();
        for (sum, component) in sums.iter_mut().zip(components) {
            let part = density(component) / all * count;
            *sum = (sum.0 + part * gap, sum.1 + part);
        }
    }
    let count: f64 = parts.iter().map(|(_, count)| count).sum();
    let better = sums.iter().zip(components).map(|((sum, weight), (mean, _))| {
        if *weight > 0.0 { (sum / weight, weight / count) } else { (*mean, 0.0) }
    });
    better.collect()
}
