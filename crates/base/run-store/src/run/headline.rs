use units::print::count;

use super::{Answer, Edge, Run};

impl Answer {
    /// Returns the maximum number of tiles as text, as far as known: `26 to 29 tiles`, `27 tiles`,
    /// `at least 8 tiles`, `no tile`; `not known` if nothing was decided.
    pub fn tiles_text(&self) -> String {
        let Some(held) = self.tiles_held else { return "not known".to_owned() };
        match self.tiles_interval {
            Some(own) if own.high == Some(own.low) => tiles(own.low),
            Some(own) => match own.high {
                Some(high) => format!("{} to {}", own.low, tiles(high)),
                None => format!("at least {}", tiles(own.low)),
            },
            None if self.is_bounded() => tiles(held),
            None => format!("at least {}", tiles(held)),
        }
    }

    /// Returns true if a number of tiles above `tiles_held` was found to fail. Runs of earlier
    /// versions have no interval; for them, it is true if `tiles_held` + 1 failed.
    pub fn is_bounded(&self) -> bool {
        let next = self.tiles_held.map(|held| held.saturating_add(1));
        match self.edge {
            Edge::LimitBroken => {
                self.first_broken.as_ref().is_none_or(|broken| Some(broken.tiles) == next)
            }
            Edge::ThroughputFlat => true,
            Edge::CapacityReached | Edge::LadderEnded | Edge::None => false,
        }
    }
}

impl Run {
    /// Returns the answer in virtual machines of the estate: `Of the estate: this datastore carries
    /// all 143 VMs and 1.3 to 1.5 times their load.`; `None` without an estate, or if nothing was
    /// decided.
    pub fn estate_text(&self) -> Option<String> {
        let may = if self.target.is_simulated() { "would carry" } else { "carries" };
        self.tile.estate?.told(&self.answer, &format!("{} {may}", self.target.subject()))
    }

    /// Describes the scaling: `quick estimate, disks 1/512`. For a model, whose caches are known,
    /// only the scale is given. `None` if the disks had full size.
    pub fn estimate_text(&self) -> Option<String> {
        let footprint = self.scale.footprint;
        (footprint > 0.0 && footprint < 1.0).then(|| {
            let scale = format!("disks 1/{:.0}", 1.0 / footprint);
            match self.target.is_simulated() {
                true => scale,
                false => format!("{} estimate, {scale}", self.profile),
            }
        })
    }
}

fn tiles(number: u32) -> String {
    if number == 0 { "no tile".to_owned() } else { count(number.into(), "tile") }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Status, TilesInterval};
    use super::*;

    fn answer(held: Option<u32>, interval: Option<(u32, Option<u32>)>, edge: Edge) -> Answer {
        Answer {
            status: Status::Complete,
            tiles_held: held,
            vms_held: None,
            tiles_interval: interval.map(|(low, high)| TilesInterval {
                low,
                high,
                most_likely: None,
                confidence: 0.95,
            }),
            tiles_max: None,
            capacity: None,
            bottleneck: None,
            edge,
            sentence: String::new(),
            first_broken: None,
            score: Figure::absent("not asked"),
            score_interval: None,
            per_kilowatt: Vec::new(),
            progress: String::new(),
            climb: None,
        }
    }

    #[test]
    fn a_count_with_nothing_above_it_is_never_told_without_at_least() {
        let told = |held, interval, edge| answer(held, interval, edge).tiles_text();
        assert_eq!(told(Some(27), Some((26, Some(29))), Edge::LimitBroken), "26 to 29 tiles");
        assert_eq!(told(Some(27), Some((27, Some(27))), Edge::LimitBroken), "27 tiles");
        assert_eq!(told(Some(27), Some((25, None)), Edge::LimitBroken), "at least 25 tiles");
        assert_eq!(told(Some(0), Some((0, Some(1))), Edge::LimitBroken), "0 to 1 tile");
        assert_eq!(told(Some(0), None, Edge::LimitBroken), "no tile");
        assert_eq!(told(Some(8), None, Edge::CapacityReached), "at least 8 tiles");
        assert_eq!(told(Some(8), None, Edge::LadderEnded), "at least 8 tiles");
        assert_eq!(told(None, None, Edge::None), "not known");
    }
}
