//! Open queues with known answers: oracles for the simulator and for engine checks.
//!
//! Times are seconds, rates per second. Every function is `None` unless the arrival rate is
//! zero or more, the service time above zero, and the load below the servers' capacity.

/// Mean values of an open queue in equilibrium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenQueue {
    /// Share of time a server is busy, 0 to 1.
    pub utilisation: f64,
    /// Mean time waiting for a server, in seconds.
    pub wait: f64,
    /// Mean time from arrival to departure, in seconds.
    pub response: f64,
    /// Mean number waiting or served.
    pub inside: f64,
}

/// How requests arrive and how long one takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoad {
    /// Poisson arrivals per second.
    pub arrivals: f64,
    /// Mean service time in seconds.
    pub service: f64,
}

impl OpenLoad {
    /// Mean number of busy servers, were there enough (Erlangs).
    pub fn offered(&self) -> f64 {
        self.arrivals * self.service
    }

    fn queue(&self, servers: u32, wait: f64) -> OpenQueue {
        let response = wait + self.service;
        let utilisation = self.offered() / f64::from(servers);
        OpenQueue { utilisation, wait, response, inside: self.arrivals * response }
    }

    fn fits(&self, servers: u32) -> bool {
        self.arrivals >= 0.0 && self.service > 0.0 && self.offered() < f64::from(servers)
    }

    /// M/G/1 by Pollaczek and Khinchine: `W = rho S (1 + c^2) / (2 (1 - rho))`, with the
    /// squared coefficient of variation of the service time (Kleinrock 1975, section 5.7).
    pub fn m_g_1(&self, squared_variation: f64) -> Option<OpenQueue> {
        let rho = self.offered();
        let wait = rho * self.service * (1.0 + squared_variation) / (2.0 * (1.0 - rho));
        (self.fits(1) && squared_variation >= 0.0).then(|| self.queue(1, wait))
    }

    /// M/M/1: exponential service (Kleinrock 1975, section 3.2).
    pub fn m_m_1(&self) -> Option<OpenQueue> {
        self.m_g_1(1.0)
    }

    /// M/D/1: constant service, which waits half as long as M/M/1.
    pub fn m_d_1(&self) -> Option<OpenQueue> {
        self.m_g_1(0.0)
    }

    /// M/M/c: `W = C(c, a) S / (c - a)` (Kleinrock 1975, section 3.5).
    pub fn m_m_c(&self, servers: u32) -> Option<OpenQueue> {
        if !self.fits(servers) {
            return None;
        }
        let waits = erlang_c(servers, self.offered())?;
        let wait = waits * self.service / (f64::from(servers) - self.offered());
        Some(self.queue(servers, wait))
    }

    /// The time in seconds that a share of M/M/1 responses does not exceed,
    /// `-ln(1 - p) R`: responses are exponential (Kleinrock 1975, section 5.4).
    pub fn m_m_1_percentile(&self, share: units::Ratio) -> Option<f64> {
        let queue = self.m_m_1()?;
        (share < units::Ratio::ONE).then(|| -libm::log1p(-share.get()) * queue.response)
    }
}

/// Probability that an arrival must wait with `servers` servers and an offered load below
/// them (Erlang 1917), from Erlang's B by its recursion, which does not overflow.
pub fn erlang_c(servers: u32, offered: f64) -> Option<f64> {
    let c = f64::from(servers);
    if servers == 0 || offered.is_nan() || offered < 0.0 || offered >= c {
        return None;
    }
    let blocked = (1..=servers)
        .fold(1.0, |blocked, k| offered * blocked / (f64::from(k) + offered * blocked));
    Some(c * blocked / (c - offered * (1.0 - blocked)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Ratio;

    fn near(found: f64, exact: f64) {
        assert!((found - exact).abs() < 1e-9, "{found} is not {exact}");
    }

    #[test]
    fn a_server_half_busy_doubles_the_time_of_exponential_service() {
        let load = OpenLoad { arrivals: 50.0, service: 0.01 };
        let queue = load.m_m_1().expect("half busy");
        near(queue.utilisation, 0.5);
        near(queue.response, 0.02);
        near(queue.inside, 1.0);
        near(load.m_d_1().expect("half busy").wait, queue.wait / 2.0);
        near(load.m_m_1_percentile(Ratio::new(0.95)).expect("valid"), 0.02 * 20_f64.ln());
    }

    /// Closed forms: `C(2, a) = a^2 / (2 + a)` for two servers, 4/9 for three servers and two
    /// Erlangs (Kleinrock 1975, section 3.5).
    #[test]
    fn few_servers_have_their_closed_form() {
        near(erlang_c(1, 0.7).expect("valid"), 0.7);
        for offered in [0.1, 1.0, 1.9] {
            near(erlang_c(2, offered).expect("valid"), offered * offered / (2.0 + offered));
        }
        near(erlang_c(3, 2.0).expect("valid"), 4.0 / 9.0);
    }

    /// The sum of state probabilities, as the textbook writes it.
    #[test]
    fn many_servers_agree_with_the_sum_over_states() {
        for (servers, offered) in [(5, 4.0), (10, 8.0), (20, 19.5)] {
            let (mut term, mut sum) = (1.0, 1.0);
            for k in 1..servers {
                term *= offered / f64::from(k);
                sum += term;
            }
            let all_busy =
                term * offered / f64::from(servers) / (1.0 - offered / f64::from(servers));
            near(erlang_c(servers, offered).expect("valid"), all_busy / (sum + all_busy));
        }
    }

    #[test]
    fn one_server_of_many_is_one_server() {
        let load = OpenLoad { arrivals: 70.0, service: 0.01 };
        near(load.m_m_c(1).expect("valid").response, load.m_m_1().expect("valid").response);
    }

    #[test]
    fn overload_has_no_equilibrium() {
        let load = OpenLoad { arrivals: 200.0, service: 0.01 };
        assert_eq!((load.m_m_1(), load.m_m_c(2)), (None, None));
        assert!(load.m_m_c(3).is_some());
        assert_eq!(erlang_c(0, 0.0), None);
    }
}
