//! Operational laws, bounds and mean value analysis of closed systems.
//!
//! Times are seconds, rates per second, populations users (or outstanding requests).

/// What Little's law says of a measured step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LittleCheck {
    /// `X R`: how many must have been inside on average.
    pub expected: f64,
    /// `|N - X R| / N`; zero when both are zero.
    pub error: f64,
    /// Whether the error is within the tolerance.
    pub holds: bool,
}

/// A closed system as measured or predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation {
    /// How many were inside on average, thinking included if `response` includes it.
    pub population: f64,
    /// Completions per second.
    pub throughput: f64,
    /// Mean time inside, in seconds.
    pub response: f64,
}

/// Largest error of Little's law that is not a bug of the measurement: 0.5 %, our choice
/// (ends of the interval count once in a few hundred).
pub const LITTLE_TOLERANCE: f64 = 0.005;

impl Operation {
    /// Little's law `N = X R` (Little 1961; as an operational law Lazowska et al. 1984,
    /// section 3.3). It holds for every system, so a violation is a bug in the measurement.
    pub fn check_little(&self, tolerance: f64) -> LittleCheck {
        let expected = self.throughput * self.response;
        let gap = (self.population - expected).abs();
        let error = if gap == 0.0 { 0.0 } else { gap / self.population.abs() };
        LittleCheck { expected, error, holds: error <= tolerance }
    }
}

/// Share of time a resource is busy: `U = X D` (utilisation law, Lazowska et al. 1984,
/// section 3.2), for completions per second and seconds of demand per completion.
pub fn utilisation(throughput: f64, demand: f64) -> f64 {
    throughput * demand
}

/// A closed system with one class of users: queueing stations and think time.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedSystem {
    /// Service demand of each station per interaction, in seconds, zero or more.
    pub demands: Vec<f64>,
    /// Think time (or any pure delay) per interaction, in seconds.
    pub think: f64,
}

impl ClosedSystem {
    /// `D`: the time of an interaction that never waits, without thinking.
    pub fn total_demand(&self) -> f64 {
        self.demands.iter().sum()
    }

    /// Position and demand of the bottleneck; nothing without stations.
    pub fn bottleneck(&self) -> Option<(usize, f64)> {
        self.demands.iter().copied().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Most completions per second that `users` can reach, `min(1 / Dmax, N / (D + Z))`
    /// (Lazowska et al. 1984, section 5.2).
    pub fn throughput_bound(&self, users: f64) -> f64 {
        let asymptote = self.bottleneck().map_or(f64::INFINITY, |(_, demand)| 1.0 / demand);
        asymptote.min(users / (self.total_demand() + self.think))
    }

    /// Shortest mean response time of `users` in seconds, `max(D, N Dmax - Z)` (same source).
    pub fn response_bound(&self, users: f64) -> f64 {
        let most = self.bottleneck().map_or(0.0, |(_, demand)| demand);
        self.total_demand().max(users * most - self.think)
    }

    /// Users at which the two bounds meet, `N* = (D + Z) / Dmax` (same source). Nothing
    /// without a station that takes time.
    pub fn knee(&self) -> Option<f64> {
        let (_, most) = self.bottleneck()?;
        (most > 0.0).then(|| (self.total_demand() + self.think) / most)
    }

    /// Exact mean value analysis for 1 to `users` users (Reiser and Lavenberg 1980; as
    /// algorithm 6.2 of Lazowska et al. 1984). Exact for product-form stations; for others an
    /// approximation.
    pub fn solve(&self, users: u32) -> Vec<Solution> {
        let mut queues = vec![0.0; self.demands.len()];
        (1..=users)
            .map(|population| {
                let residence: Vec<f64> =
                    self.demands.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
                let response: f64 = residence.iter().sum();
                let throughput = f64::from(population) / (response + self.think);
                queues = residence.iter().map(|r| throughput * r).collect();
                Solution { users: population, throughput, response, queues: queues.clone() }
            })
            .collect()
    }
}

/// A closed system with some number of users.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// How many users.
    pub users: u32,
    /// Completions per second.
    pub throughput: f64,
    /// Mean response time in seconds, without thinking.
    pub response: f64,
    /// Mean number at each station, waiting or served.
    pub queues: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn littles_law_finds_a_lost_completion() {
        let measured = Operation { population: 64.0, throughput: 10_000.0, response: 0.0064 };
        assert!(measured.check_little(LITTLE_TOLERANCE).holds);
        let lost = Operation { throughput: 9_900.0, ..measured };
        let found = lost.check_little(LITTLE_TOLERANCE);
        assert!(!found.holds && (found.error - 0.01).abs() < 1e-9);
        let idle = Operation { population: 0.0, throughput: 0.0, response: 0.0 };
        assert!(idle.check_little(LITTLE_TOLERANCE).holds);
    }

    #[test]
    fn a_disk_busy_10_ms_per_read_at_60_reads_a_second_is_60_per_cent_busy() {
        assert!((utilisation(60.0, 0.010) - 0.6).abs() < 1e-12);
    }

    fn system() -> ClosedSystem {
        ClosedSystem { demands: vec![2.0, 0.5, 3.0], think: 15.0 }
    }

    #[test]
    fn bounds_meet_at_the_knee() {
        let knee = system().knee().expect("has stations");
        assert!((knee - 20.5 / 3.0).abs() < 1e-12);
        assert!((system().throughput_bound(knee) - 1.0 / 3.0).abs() < 1e-12);
        assert!((system().response_bound(knee) - 5.5).abs() < 1e-12);
        assert_eq!(ClosedSystem { demands: vec![], think: 1.0 }.knee(), None);
    }

    /// Balanced systems have the closed form `X = N / (D (K + N - 1) / K)` (Lazowska et al.
    /// 1984, section 5.4).
    #[test]
    fn a_balanced_system_has_its_closed_form() {
        let balanced = ClosedSystem { demands: vec![0.25; 4], think: 0.0 };
        for solution in balanced.solve(30) {
            let n = f64::from(solution.users);
            let exact = n / (0.25 * (4.0 + n - 1.0));
            assert!((solution.throughput - exact).abs() < 1e-12);
        }
    }

    /// One station and thinking users are the machine repairman's problem: the station idles
    /// with probability `1 / sum N!/(N-k)! (D/Z)^k` (Kleinrock 1975, section 3.8).
    #[test]
    fn one_station_is_the_machine_repairman() {
        let (demand, think) = (0.02, 0.5);
        let repairman = ClosedSystem { demands: vec![demand], think };
        for solution in repairman.solve(60) {
            let (mut term, mut sum) = (1.0, 1.0);
            for k in 0..solution.users {
                term *= f64::from(solution.users - k) * demand / think;
                sum += term;
            }
            let exact = (1.0 - 1.0 / sum) / demand;
            assert!((solution.throughput / exact - 1.0).abs() < 1e-9, "{}", solution.users);
        }
    }

    /// Buzen's convolution (1973): `X(N) = G(N - 1) / G(N)`, think time as a delay station
    /// with terms `Z^n / n!`.
    fn convolution(system: &ClosedSystem, users: usize) -> f64 {
        let mut g: Vec<f64> = vec![1.0];
        for n in 1..=users {
            g.push(g[n - 1] * system.think / n as f64);
        }
        for demand in &system.demands {
            for n in 1..=users {
                g[n] += demand * g[n - 1];
            }
        }
        g[users - 1] / g[users]
    }

    proptest! {
        #[test]
        fn mean_values_are_those_of_the_product_form(
            demands in proptest::collection::vec(0.01_f64..1.0, 1..6),
            think in 0.0_f64..5.0,
            users in 1_u32..25,
        ) {
            let system = ClosedSystem { demands, think };
            let solutions = system.solve(users);
            let last = solutions.last().expect("at least one");
            let exact = convolution(&system, users as usize);
            prop_assert!((last.throughput / exact - 1.0).abs() < 1e-9);
            prop_assert!(last.throughput <= system.throughput_bound(f64::from(users)) + 1e-9);
            prop_assert!(last.response >= system.response_bound(f64::from(users)) - 1e-9);
            let inside = last.queues.iter().sum::<f64>() + last.throughput * think;
            let little = Operation {
                population: f64::from(users),
                throughput: last.throughput,
                response: last.response + think,
            };
            prop_assert!((inside - f64::from(users)).abs() < 1e-9);
            prop_assert!(little.check_little(1e-9).holds);
        }
    }
}
