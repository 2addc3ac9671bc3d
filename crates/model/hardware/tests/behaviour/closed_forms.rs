//! Results of queueing theory for simple systems, in seconds and per second.

/// Poisson arrivals a second, and the mean service time of one.
#[derive(Clone, Copy)]
pub struct OpenLoad {
    pub arrivals: f64,
    pub service: f64,
}

impl OpenLoad {
    /// Mean response with exponential service (Kleinrock 1975, section 3.2).
    pub fn m_m_1(self) -> f64 {
        self.m_m_c(1)
    }

    /// Mean response with constant service, which waits half as long as exponential service (by
    /// Pollaczek and Khinchine, Kleinrock 1975, section 5.7).
    pub fn m_d_1(self) -> f64 {
        self.service + (self.m_m_1() - self.service) / 2.0
    }

    /// Mean response of several servers: `W = C(c, a) S / (c - a)` (Kleinrock 1975, section 3.5).
    pub fn m_m_c(self, servers: u32) -> f64 {
        let offered = self.arrivals * self.service;
        let waits = erlang_c(servers, offered);
        self.service + waits * self.service / (f64::from(servers) - offered)
    }
}

/// Probability that an arrival must wait with an offered load below the servers (Erlang 1917),
/// from Erlang's B by its recursion.
fn erlang_c(servers: u32, offered: f64) -> f64 {
    let c = f64::from(servers);
    assert!(offered < c, "{offered} Erlangs for {servers} servers have no equilibrium");
    let blocked = (1..=servers)
        .fold(1.0, |blocked, k| offered * blocked / (f64::from(k) + offered * blocked));
    c * blocked / (c - offered * (1.0 - blocked))
}

/// A closed system: one class of users who think between interactions, and seconds of demand
/// for each station.
pub struct ClosedSystem {
    pub demands: Vec<f64>,
    pub think: f64,
}

impl ClosedSystem {
    /// Completions a second and mean response without thinking, by exact mean value analysis
    /// (Reiser and Lavenberg 1980; algorithm 6.2 of Lazowska et al. 1984).
    pub fn solve(&self, users: u32) -> (f64, f64) {
        let mut queues = vec![0.0; self.demands.len()];
        let mut found = (0.0, 0.0);
        for population in 1..=users {
            let waits = self.demands.iter().zip(&queues);
            let residence: Vec<f64> = waits.map(|(demand, queue)| demand * (1.0 + queue)).collect();
            let response: f64 = residence.iter().sum();
            let throughput = f64::from(population) / (response + self.think);
            queues = residence.iter().map(|time| throughput * time).collect();
            found = (throughput, response);
        }
        found
    }
}

/// `C(2, a) = a^2 / (2 + a)` for two servers, 4/9 for three and two Erlangs, the offered load for
/// one (Kleinrock 1975, section 3.5).
#[test]
fn few_servers_have_their_closed_form() {
    for (servers, offered, exact) in
        [(1, 0.7, 0.7), (2, 0.1, 0.01 / 2.1), (2, 1.9, 3.61 / 3.9), (3, 2.0, 4.0 / 9.0)]
    {
        assert!((erlang_c(servers, offered) - exact).abs() < 1e-9, "{servers}, {offered}");
    }
}

/// `X = N / (D (K + N - 1) / K)` (Lazowska et al. 1984, section 5.4).
#[test]
fn a_balanced_system_has_its_closed_form() {
    let balanced = ClosedSystem { demands: vec![0.25; 4], think: 0.0 };
    for users in 1..30 {
        let n = f64::from(users);
        assert!((balanced.solve(users).0 - n / (0.25 * (n + 3.0))).abs() < 1e-12, "{users}");
    }
}
