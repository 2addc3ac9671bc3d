//! Placement of a random job's I/Os.

use super::FioError;
use super::job::{Direction, Places, Reader};

/// fio's default parameters of distributions (HOWTO, `random_distribution`).
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;
/// Number of zones that approximate a pareto distribution.
const PARETO_STEPS: i32 = 5;

impl Reader<'_> {
    /// Returns the random places for a direction.
    pub(super) fn random(
        &mut self,
        direction: Direction,
        runs: Option<u64>,
        distribution: &Places,
    ) -> Result<Places, FioError> {
        let option = "percentage_random";
        let percent = match self.of_direction(&[option], direction) {
            None => 100.0,
            Some(text) => match text.trim_end_matches('%').parse::<u32>() {
                Ok(percent @ 0..=100) => f64::from(percent),
                _ => return Err(self.wrong(option, text, "is not from 0 to 100")),
            },
        };
        let percent = match runs {
            #[expect(clippy::cast_precision_loss, reason = "at most a million")]
            Some(runs) => percent / runs as f64,
            None => percent,
        };
        if percent >= 100.0 {
            return Ok(distribution.clone());
        }
        if *distribution != Places::Uniform {
            self.note("offsets in runs are uniform here, for any random_distribution".into());
        }
        Ok(if percent > 0.0 {
            Places::Mixed { random: percent }
        } else {
            Places::Sequential { streams: 1 }
        })
    }

    pub(super) fn distribution(&mut self) -> Result<Places, FioError> {
        const OPTION: &str = "random_distribution";
        let Some(text) = self.get(&[OPTION]) else { return Ok(Places::Uniform) };
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        // The end of the value is the centre of the popular places.
        let (value, centre) = value.split_once('/').unwrap_or((value, ""));
        let number = |usual: f64| {
            if value.is_empty() { Some(usual) } else { value.parse::<f64>().ok() }
        };
        match kind {
            "zipf" => {
                let theta = number(ZIPF_THETA).filter(|theta| (0.0..=3.0).contains(theta));
                let theta = theta.ok_or_else(|| self.wrong(OPTION, text, "is not from 0 to 3"))?;
                if !centre.is_empty() {
                    self.note(format!("{OPTION}={text}: popular offsets are scattered here"));
                }
                Ok(Places::Zipf { exponent: theta })
            }
            "pareto" => {
                let h = number(PARETO_H).filter(|h| 0.0 < *h && *h < 0.5).ok_or_else(|| {
                    self.wrong(OPTION, text, "is not above 0 and below 0.5, which would be uniform")
                })?;
                self.note(format!(
                    "{OPTION}={text} is approximated by {PARETO_STEPS} parts of the disk"
                ));
                Ok(Places::Hot(pareto(h)))
            }
            "zoned" if !text.contains(',') => {
                let zones = zones(text.split_once(':').map_or("", |(_, zones)| zones));
                zones.map(Places::Hot).ok_or_else(|| {
                    self.wrong(
                        OPTION,
                        text,
                        "is not a list IO/DISK:IO/DISK of percentages up to 100",
                    )
                })
            }
            _ => Ok(Places::Uniform),
        }
    }
}

/// Returns the shares of I/O and disk of a self-similar distribution, which sends the share `1 - h`
/// of the I/O to the share `h` of the disk, and recursively within it (Gray et al. 1994, section
/// 3.1). The smallest part is first, and the rest follows the last part.
fn pareto(h: f64) -> Vec<(f64, f64)> {
    let within = |steps: i32| ((1.0 - h).powi(steps), h.powi(steps));
    let (mut io_before, mut space_before) = (0.0, 0.0);
    let mut all = Vec::new();
    for steps in (1..PARETO_STEPS).rev() {
        let (io, space) = within(steps);
        all.push(((io - io_before) * 100.0, (space - space_before) * 100.0));
        (io_before, space_before) = (io, space);
    }
    all
}

/// Parses the zones of `zoned:IO/DISK:IO/DISK`. The last zone is left out if the zones cover the
/// disk. Zones without a share get equal parts of the rest.
fn zones(text: &str) -> Option<Vec<(f64, f64)>> {
    let percent = |text: &str| match text.trim() {
        "" => Some(None),
        text => {
            let share = text.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
            share.map(Some)
        }
    };
    let zone = |text: &str| {
        let (io, space) = text.split_once('/').unwrap_or((text, ""));
        percent(io).zip(percent(space))
    };
    let told: Vec<(Option<f64>, Option<f64>)> = text.split(':').map(zone).collect::<Option<_>>()?;
    let io_left = rest(told.iter().map(|zone| zone.0));
    let space_left = rest(told.iter().map(|zone| zone.1));
    let shares = told.iter().map(|zone| (zone.0.unwrap_or(io_left), zone.1.unwrap_or(space_left)));
    let mut all: Vec<(f64, f64)> = shares.collect();
    if all.iter().any(|(_, space)| *space <= 0.0) {
        return None;
    }
    let (io, space) = all.iter().fold((0.0, 0.0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
    if io > 100.001 || space > 100.001 || (io < 99.999 && space > 99.999) {
        return None;
    }
    if space > 99.999 && all.len() > 1 {
        all.pop();
    }
    Some(all)
}

/// Returns the percentage for each share that is not given, so that the sum is 100.
fn rest(shares: impl Iterator<Item = Option<f64>> + Clone) -> f64 {
    let untold = shares.clone().filter(Option::is_none).map(|_| 1.0).sum::<f64>();
    let left: f64 = 100.0 - shares.flatten().sum::<f64>();
    if untold > 0.0 { left.max(0.0) / untold } else { 0.0 }
}
