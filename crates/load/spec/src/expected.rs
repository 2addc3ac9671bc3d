//! Conversion of an expectation to a limit of a tile's workload.

use crate::check::{Timed, timed};
use crate::expect::{Expectation, ExpectationError, Quantity, TimeStatistic};
use crate::workload::{Limit, Workload};
use crate::{ResolvedTile, did_you_mean};

impl Expectation {
    /// Returns the position of the expectation's workload, and the expectation as a limit of this
    /// workload. `None` if the expectation is about the answer of the whole run.
    ///
    /// # Errors
    ///
    /// The tile has no such workload, or the workload has no such action or kind.
    pub fn limit(&self, tile: &ResolvedTile) -> Result<Option<(usize, Limit)>, ExpectationError> {
        let Quantity::Time { workload, name, statistic, bound, .. } = &self.quantity else {
            return Ok(None);
        };
        let unknown = |what: String, help: String| ExpectationError::Unknown {
            text: self.to_string(),
            what,
            help,
        };
        let mut all = tile.all().enumerate();
        let Some((position, (own, _))) = all.find(|(_, (own, _))| own.name == *workload) else {
            let known: Vec<&str> = tile.all().map(|(own, _)| own.name.as_str()).collect();
            let help = did_you_mean(workload, &known, "workloads");
            return Err(unknown(format!("the workload \"{workload}\""), help));
        };
        let mut limit = Limit {
            action: None,
            io: None,
            call: None,
            percentile: None,
            limit: None,
            mean: None,
            max: None,
            source: "expected".to_owned(),
        };
        *subject(&mut limit, own, name).ok_or_else(|| {
            let known: Vec<String> = timed(own).into_iter().map(|(_, name)| name).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = did_you_mean(name, &known, "actions and kinds");
            unknown(format!("\"{name}\" of the workload \"{workload}\""), help)
        })? = Some(name.clone());
        match *statistic {
            TimeStatistic::Percentile(p) => {
                (limit.percentile, limit.limit) = (Some(p), Some(*bound));
            }
            TimeStatistic::Mean => limit.mean = Some(*bound),
            TimeStatistic::Max => limit.max = Some(*bound),
        }
        Ok(Some((position, limit)))
    }
}

/// Returns the field of a limit that holds the given name of a workload's action or kind.
fn subject<'a>(
    limit: &'a mut Limit,
    workload: &Workload,
    name: &str,
) -> Option<&'a mut Option<String>> {
    let (timed, _) = timed(workload).into_iter().find(|(_, own)| own == name)?;
    Some(match timed {
        Timed::Action => &mut limit.action,
        Timed::Io => &mut limit.io,
        Timed::Call => &mut limit.call,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tile_does_not_have_is_refused_with_the_nearest() {
        let tile = crate::resolve_tile("datacenter", std::path::Path::new("")).expect("shipped");
        let (workload, _) = tile.at(0);
        let action = &workload.actions[0].name;
        let fits: Expectation =
            format!("{}.{action}.p95 <= 1s", workload.name).parse().expect("an expectation");
        let (position, limit) = fits.limit(&tile).expect("it is there").expect("it is of a time");
        assert_eq!((position, limit.action.as_ref()), (0, Some(action)));
        let of = |text: &str| {
            let expectation: Expectation = text.parse().expect("an expectation");
            match expectation.limit(&tile) {
                Err(ExpectationError::Unknown { what, help, .. }) => format!("{what}; {help}"),
                other => panic!("{text}: {other:?}"),
            }
        };
        let wrong = of(&format!("{}s.{action}.p95 <= 1s", workload.name));
        assert!(wrong.contains(&format!("did you mean \"{}\"?", workload.name)), "{wrong}");
        let wrong = of(&format!("{}.{action}x.p95 <= 1s", workload.name));
        assert!(wrong.contains(&format!("did you mean \"{action}\"?")), "{wrong}");
        let answer: Expectation = "tiles >= 8".parse().expect("an expectation");
        assert_eq!(answer.limit(&tile), Ok(None));
    }
}
