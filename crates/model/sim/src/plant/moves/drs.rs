/// Minimum reduction of the imbalance by a move. Our choice, in place of the costs and benefits that
/// DRS weighs: without it, the most aggressive threshold would move virtual machines for ever.
const REDUCTION_MIN: f64 = 0.01;

/// Loads of the hosts, as shares of their capacity, and of the virtual machines on them.
///
/// DRS computes the load of a host as the sum of the loads of its virtual machines divided by the
/// host's capacity, and the imbalance as the standard deviation over the hosts. It picks the move
/// that reduces the imbalance most, again and again, until the imbalance is allowed (Gulati and
/// others, "VMware Distributed Resource Management: Design, Implementation, and Lessons Learned",
/// VMware Technical Journal 1, 2012).
#[derive(Debug, Clone)]
pub struct Balance {
    /// Hosts that may take virtual machines, each with its load.
    pub hosts: Vec<(usize, f64)>,
    /// Virtual machines that may move, each with its host and the load that it brings.
    pub vms: Vec<(usize, usize, f64)>,
}

impl Balance {
    /// Returns the next move, as virtual machine and host, and changes the loads as if it was done.
    /// `None` if the imbalance is allowed by the threshold (1 to 5), or no move reduces it. Only
    /// virtual machines of the busiest host move.
    pub fn next_move(&mut self, threshold: u32) -> Option<(usize, usize)> {
        let imbalance = self.imbalance();
        if priority(imbalance, self.hosts.len()) > threshold {
            return None;
        }
        let busiest = self.hosts.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
        let mut best: Option<(f64, usize, usize)> = None;
        for (at, (_, host, load)) in self.vms.iter().enumerate() {
            for (to, _) in self.hosts.iter().filter(|(to, _)| *host == busiest && *to != busiest) {
                let after = self.imbalance_with(busiest, *to, *load);
                if best.is_none_or(|(least, ..)| after < least) {
                    best = Some((after, at, *to));
                }
            }
        }
        let (after, at, to) = best?;
        if imbalance - after < REDUCTION_MIN {
            return None;
        }
        let (vm, from, load) = self.vms[at];
        self.vms[at].1 = to;
        for (host, sum) in &mut self.hosts {
            *sum += moved(*host, (from, to), load);
        }
        Some((vm, to))
    }

    fn imbalance(&self) -> f64 {
        deviation(self.hosts.iter().map(|(_, load)| *load))
    }

    fn imbalance_with(&self, from: usize, to: usize, load: f64) -> f64 {
        deviation(self.hosts.iter().map(|(host, sum)| sum + moved(*host, (from, to), load)))
    }
}

/// Returns the change of a host's load by a move.
fn moved(host: usize, (from, to): (usize, usize), load: f64) -> f64 {
    match host {
        host if host == from => -load,
        host if host == to => load,
        _ => 0.0,
    }
}

/// Returns the priority of a recommendation, 2 (most urgent) to 5, or 6 if the hosts are balanced:
/// `6 - ceil(imbalance / 0.1 * sqrt(hosts))` ("Calculating the priority level of a VMware DRS
/// migration recommendation", VMware knowledge base 1007485). Priority 1 is for moves that a rule
/// demands. A threshold applies the recommendations of its own priority and of smaller ones.
#[expect(clippy::cast_precision_loss, reason = "a number of hosts")]
fn priority(imbalance: f64, hosts: usize) -> u32 {
    let steps = (imbalance / 0.1 * (hosts as f64).sqrt()).ceil();
    [1.0, 2.0, 3.0, 4.0].iter().fold(6, |level, step| level - u32::from(steps >= *step))
}

/// Returns the standard deviation.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().fold(0.0, |count, _| count + 1.0);
    let mean = values.clone().sum::<f64>() / f64::max(count, 1.0);
    let squares = values.map(|value| (value - mean).powi(2)).sum::<f64>();
    (squares / f64::max(count, 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_follows_the_published_formula() {
        // The example of "The Math Behind the DRS Stars" (vbrownbag.com, 2010).
        assert_eq!(priority(0.282, 2), 2);
        assert_eq!(
            [0.0, 0.05, 0.11, 0.21, 0.31, 0.9].map(|own| priority(own, 1)),
            [6, 5, 4, 3, 2, 2]
        );
        assert_eq!(priority(0.11, 4), 3);
    }

    fn balance() -> Balance {
        let vms = vec![(0, 0, 0.4), (1, 0, 0.25), (2, 0, 0.15), (3, 1, 0.1), (4, 2, 0.2)];
        Balance { hosts: vec![(0, 0.8), (1, 0.1), (2, 0.2)], vms }
    }

    fn moves(threshold: u32) -> Vec<(usize, usize)> {
        let mut own = balance();
        std::iter::from_fn(|| own.next_move(threshold)).collect()
    }

    #[test]
    fn busiest_host_gives_the_vm_that_balances_best() {
        // 0.8, 0.1 and 0.2 have a deviation of 0.31. Moving 0.4 to host 1 leaves 0.12, which has
        // priority 3 on three hosts. Then host 1 is the busiest, and 0.1 moves to host 2.
        assert_eq!(moves(2), [(0, 1)]);
        assert_eq!(moves(3), [(0, 1), (3, 2)]);
        assert_eq!(moves(5), [(0, 1), (3, 2)], "0.4, 0.4 and 0.3 cannot be better");
        assert_eq!(moves(1), [], "only moves that a rule demands");
    }

    #[test]
    fn balanced_hosts_and_useless_moves_change_nothing() {
        let hosts = vec![(0, 0.5), (1, 0.5)];
        let mut own = Balance { hosts, vms: vec![(0, 0, 0.5), (1, 1, 0.5)] };
        assert_eq!(own.next_move(5), None);
        // One big VM would only make the other host the busiest.
        let mut own = Balance { hosts: vec![(0, 0.9), (1, 0.0)], vms: vec![(0, 0, 0.9)] };
        assert_eq!(own.next_move(5), None);
    }
}
