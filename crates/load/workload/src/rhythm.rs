//! Open-loop arrivals: interarrival times of any distribution, at a rate that bursts raise.

use state_machine::Stream;

use crate::pick::Pick;

/// Means of interarrival times as multiples of the overall mean, with their weights; Poisson if
/// absent.
type Gaps = Option<(Pick, Box<[f64]>)>;

/// Arrivals in the group's active time.
///
/// Interarrival times are drawn in units of their mean and elapse at the current rate (a renewal
/// process with a modulated clock). So each state has its rate, whatever the distribution is.
#[derive(Debug, Clone)]
pub struct Rhythm {
    base: State,
    /// Kinds of bursts. The first kind with a burst in progress applies.
    bursts: Box<[Bursts]>,
}

/// Rate and interarrival times outside bursts, or within one kind of bursts.
#[derive(Debug, Clone)]
struct State {
    /// Mean interarrival time in nanoseconds; infinite if nothing arrives.
    gap_ns: f64,
    gaps: Gaps,
}

/// Bursts of one kind.
#[derive(Debug, Clone)]
struct Bursts {
    state: State,
    length_ns: f64,
    /// Length of a period, in nanoseconds. One burst begins in each period.
    period_ns: f64,
    /// Start of the next or current burst, in nanoseconds.
    begin_ns: f64,
    /// Number of periods that have begun, including the period of `begin_ns`.
    periods: f64,
}

/// Bursts as defined. Times are in nanoseconds, and shares are 0 to 1.
#[derive(Debug, Clone)]
pub struct BurstPlan {
    pub io: f64,
    pub time: f64,
    pub length_ns: f64,
    /// Interarrival times with their weights; if empty, the same as outside bursts.
    pub gaps: Vec<(f64, f64)>,
}

/// Scales interarrival times to a mean of 1, so that they do not change the rate. Mixtures of
/// exponentials model arrivals in groups (Feldmann and Whitt, "Fitting mixtures of exponentials to
/// long-tail distributions to analyze network performance models", Performance Evaluation 31,
/// 1998).
fn scaled(gaps: &[(f64, f64)]) -> Gaps {
    let weights: Vec<f64> = gaps.iter().map(|(_, weight)| *weight).collect();
    let total: f64 = weights.iter().sum();
    let mean: f64 = gaps.iter().map(|(gap, weight)| gap * weight).sum::<f64>() / total;
    let multiples = gaps.iter().map(|(gap, _)| gap / mean).collect();
    Pick::new(&weights).filter(|_| mean > 0.0).map(|pick| (pick, multiples))
}

impl Rhythm {
    /// Creates arrivals at this rate per second. Bursts of a kind take their share of the time that
    /// earlier kinds leave.
    pub fn new(rate: f64, gaps: &[(f64, f64)], bursts: &[BurstPlan], stream: &mut Stream) -> Self {
        let gap_ns =
            |share: f64| if rate * share > 0.0 { 1e9 / (rate * share) } else { f64::INFINITY };
        let base_gaps = scaled(gaps);
        let (mut io_left, mut time_left) = (1.0, 1.0);
        let bursts: Box<[Bursts]> = bursts
            .iter()
            .map(|wanted| {
                let time = time_left * wanted.time;
                (io_left, time_left) = (io_left - wanted.io, time_left - time);
                let gaps =
                    if wanted.gaps.is_empty() { base_gaps.clone() } else { scaled(&wanted.gaps) };
                let state = State { gap_ns: gap_ns(wanted.io / time), gaps };
                Bursts::new(state, wanted, stream)
            })
            .collect();
        // Shares that add up to all of the arrivals may miss it by a rounding.
        let io_left = if io_left > 1e-9 { io_left } else { 0.0 };
        let base = State { gap_ns: gap_ns(io_left / time_left), gaps: base_gaps };
        Self { base, bursts }
    }

    /// Returns the first arrival after a time; `None` if there is none.
    #[inline]
    pub fn next(&mut self, mut at: f64, stream: &mut Stream) -> Option<f64> {
        let comes = |state: &State| state.gap_ns.is_finite();
        if !comes(&self.base) && !self.bursts.iter().any(|bursts| comes(&bursts.state)) {
            return None;
        }
        if self.bursts.is_empty() {
            return Some(at + self.base.gap(self.base.gap_ns, stream));
        }
        self.bursts.iter_mut().for_each(|bursts| bursts.go_on(at, stream));
        let mut left = self.state(at).0.gap(1.0, stream);
        loop {
            let (state, until) = self.state(at);
            let arrival = at + left * state.gap_ns;
            if arrival <= until {
                return Some(arrival);
            }
            left -= (until - at) / state.gap_ns;
            at = until;
            self.bursts.iter_mut().for_each(|bursts| bursts.go_on(at, stream));
        }
    }

    /// Returns the start of each kind's burst, and the number of its periods that have begun.
    pub fn bursts(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.bursts.iter().map(|bursts| (bursts.begin_ns, bursts.periods))
    }

    /// Restores saved bursts.
    pub fn go_on_from(&mut self, saved: &[(f64, f64)]) {
        for (own, (begin_ns, periods)) in self.bursts.iter_mut().zip(saved) {
            (own.begin_ns, own.periods) = (*begin_ns, *periods);
        }
    }

    /// Returns the state at a time, and the end of that state.
    fn state(&self, at: f64) -> (&State, f64) {
        let mut until = f64::INFINITY;
        for bursts in &self.bursts {
            let end = bursts.begin_ns + bursts.length_ns;
            if at >= bursts.begin_ns {
                return (&bursts.state, until.min(end));
            }
            until = until.min(bursts.begin_ns);
        }
        (&self.base, until)
    }
}

impl State {
    /// Draws an interarrival time with this mean.
    #[inline]
    fn gap(&self, mean: f64, stream: &mut Stream) -> f64 {
        let scale = self.gaps.as_ref().map_or(1.0, |(pick, gaps)| gaps[pick.draw(stream)]);
        -(mean * scale * libm::log(1.0 - stream.unit()))
    }
}

impl Bursts {
    fn new(state: State, wanted: &BurstPlan, stream: &mut Stream) -> Self {
        let period_ns = wanted.length_ns / wanted.time;
        let mut bursts =
            Self { state, length_ns: wanted.length_ns, period_ns, begin_ns: 0.0, periods: 0.0 };
        bursts.begin(stream);
        bursts
    }

    /// Draws the start of the next period's burst.
    fn begin(&mut self, stream: &mut Stream) {
        let room = self.period_ns - self.length_ns;
        self.begin_ns = self.periods * self.period_ns + stream.unit() * room;
        self.periods += 1.0;
    }

    /// Advances to the next burst if the current one is over.
    fn go_on(&mut self, at: f64, stream: &mut Stream) {
        while at >= self.begin_ns + self.length_ns {
            self.begin(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Purpose;

    fn stream() -> Stream {
        Stream::derive(1, &[], Purpose::Arrivals)
    }

    /// Returns the arrivals of this many seconds.
    fn arrivals(mut rhythm: Rhythm, seconds: f64, stream: &mut Stream) -> Vec<f64> {
        let mut times = Vec::new();
        let mut at = 0.0;
        while at < seconds * 1e9 {
            at = rhythm.next(at, stream).expect("there is at least one line more");
            times.push(at / 1e9);
        }
        times
    }

    #[test]
    fn gaps_keep_the_rate_and_are_those_that_were_asked_for() {
        let mut stream = stream();
        let rhythm = Rhythm::new(100.0, &[(1e-6, 0.9), (1e-3, 0.1)], &[], &mut stream);
        let times = arrivals(rhythm, 2000.0, &mut stream);
        let short = times.windows(2).filter(|pair| pair[1] - pair[0] < 0.002).count();
        // The scaled means are 0.099 ms and 99 ms; few gaps lie between.
        let (count, short) = (times.len() as f64, short as f64);
        // A gap's variance is 2 (0.9 m^2 + 0.1 M^2) - mean^2, so a mean of 200,000 is off by
        // 1 %; three of them.
        assert!((count / 2000.0 / 100.0 - 1.0).abs() < 0.03, "{count} arrivals");
        // All of the short ones and 2 % of the long ones.
        assert!((short / count - 0.902).abs() < 0.005, "{short}");
    }

    #[test]
    fn bursts_have_their_share_of_the_arrivals_and_the_rate_stays() {
        let mut stream = stream();
        let wanted = |io, time, length_ns| BurstPlan { io, time, length_ns, gaps: Vec::new() };
        // A minute of a hundredth of the time has 30 %; of the rest a tenth, in seconds, 40 %.
        let bursts = [wanted(0.3, 0.01, 6e9), wanted(0.4, 0.1, 1e9)];
        for gaps in [vec![], vec![(1e-4, 0.8), (1e-2, 0.2)]] {
            let rhythm = Rhythm::new(200.0, &gaps, &bursts, &mut stream);
            let times = arrivals(rhythm, 20_000.0, &mut stream);
            let rate = times.len() as f64 / 20_000.0;
            assert!((rate / 200.0 - 1.0).abs() < 0.03, "{rate} a second");
            let mut seconds = vec![0_u32; 20_001];
            for at in &times {
                let second = units::Nanos::from_secs_f64(*at).0 / 1_000_000_000;
                seconds[usize::try_from(second).expect("a few thousand")] += 1;
            }
            seconds.sort_unstable_by(|a, b| b.cmp(a));
            let of = |range: std::ops::Range<usize>| {
                f64::from(seconds[range].iter().sum::<u32>()) / times.len() as f64
            };
            // 6,000 a second in bursts of 6 s, 808 in those of 1 s, 67 outside. A burst is in one
            // second more than it is long.
            assert!((5400..6800).contains(&seconds[20]), "{}", seconds[20]);
            assert!((of(0..240) - 0.3).abs() < 0.03, "{}", of(0..240));
            assert!((of(240..4240) - 0.47).abs() < 0.05, "{}", of(240..4240));
        }
    }

    #[test]
    fn all_arrivals_may_come_in_bursts_with_gaps_of_their_own() {
        let mut stream = stream();
        let gaps = vec![(1e-3, 1.0), (1e-6, 9.0)];
        let bursts = [BurstPlan { io: 1.0, time: 0.05, length_ns: 1e8, gaps }];
        let rhythm = Rhythm::new(50.0, &[], &bursts, &mut stream);
        let times = arrivals(rhythm, 2000.0, &mut stream);
        assert!((times.len() as f64 / 100_000.0 - 1.0).abs() < 0.05, "{}", times.len());
        let pauses = times.windows(2).filter(|pair| pair[1] - pair[0] > 0.3).count();
        // One in each 2 s, but where two are close to each other.
        assert!((900..1001).contains(&pauses), "{pauses}");
    }

    #[test]
    fn without_a_rate_nothing_comes() {
        let mut stream = stream();
        assert_eq!(Rhythm::new(0.0, &[], &[], &mut stream).next(0.0, &mut stream), None);
        let bursts = [BurstPlan { io: 0.5, time: 0.5, length_ns: 1e9, gaps: Vec::new() }];
        let mut rhythm = Rhythm::new(0.0, &[], &bursts, &mut stream);
        assert_eq!(rhythm.next(0.0, &mut stream), None);
    }
}
