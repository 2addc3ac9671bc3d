/// Step of a miss-ratio curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Size of the cache in pages.
    pub pages: u64,
    /// Share of references that miss, 0 to 1, from this size up to the size of the next point.
    pub miss_ratio: f64,
}

/// Miss ratio over cache size: a step function that never rises, and is 1 below its first point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MissRatioCurve {
    points: Vec<CurvePoint>,
}

impl MissRatioCurve {
    /// Builds a curve from points in any order. A ratio outside 0 to 1, or above the ratio of a
    /// smaller cache, is clamped to the nearest value that is possible for LRU.
    pub(super) fn new(mut points: Vec<CurvePoint>) -> Self {
        points.sort_by_key(|point| point.pages);
        let mut least = 1.0_f64;
        for point in &mut points {
            least = least.min(point.miss_ratio.max(0.0));
            point.miss_ratio = least;
        }
        Self { points }
    }

    /// Builds a curve from the weight of hits at each stack distance. `references` is the number of
    /// all references.
    pub(super) fn from_hits(hits: impl Iterator<Item = (u64, f64)>, references: f64) -> Self {
        let mut sum = 0.0;
        let points = hits.map(|(pages, weight)| {
            sum += weight;
            CurvePoint { pages, miss_ratio: 1.0 - sum / references }
        });
        Self::new(points.collect())
    }

    /// Returns the points of the curve, smallest cache first.
    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }

    /// Returns the share of references that miss in a cache of `pages`, 0 to 1.
    pub fn miss_ratio(&self, pages: u64) -> f64 {
        let after = self.points.partition_point(|point| point.pages <= pages);
        after.checked_sub(1).map_or(1.0, |at| self.points[at].miss_ratio)
    }

    /// Returns the smallest number of pages that reaches a hit ratio (0 to 1). `None` if no size
    /// does, because the remaining references are first references, which always miss.
    pub fn pages_for_hit_ratio(&self, hit_ratio: f64) -> Option<u64> {
        if hit_ratio <= 0.0 {
            return Some(0);
        }
        let at = self.points.partition_point(|point| 1.0 - point.miss_ratio < hit_ratio);
        self.points.get(at).map(|point| point.pages)
    }

    /// Returns the knee, after which more pages bring less: the point furthest below the straight
    /// line from "no cache" to the last point, both axes scaled to 1 (Satopää, Albrecht, Irwin and
    /// Raghavan, "Finding a Kneedle in a Haystack", 2011, without the smoothing). `None` if no
    /// point lies below the line.
    #[expect(clippy::cast_precision_loss, reason = "a place on a drawing, not a count")]
    pub fn knee(&self) -> Option<CurvePoint> {
        let last = self.points.last()?;
        let drop = 1.0 - last.miss_ratio;
        let below = |point: &CurvePoint| {
            (1.0 - point.miss_ratio) / drop - point.pages as f64 / last.pages as f64
        };
        let found = self.points.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
        (drop > 0.0 && below(found) > 0.0).then_some(*found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, f64)]) -> MissRatioCurve {
        let point = |&(pages, miss_ratio): &(u64, f64)| CurvePoint { pages, miss_ratio };
        MissRatioCurve::new(points.iter().map(point).collect())
    }

    #[test]
    fn a_staircase_is_read_at_its_steps_and_between() {
        let curve = curve(&[(10, 0.8), (100, 0.3), (1000, 0.2)]);
        let ratios: Vec<f64> =
            [0, 9, 10, 99, 100, 5000].map(|pages| curve.miss_ratio(pages)).into();
        assert_eq!(ratios, [1.0, 1.0, 0.8, 0.8, 0.3, 0.2]);
        assert_eq!(curve.pages_for_hit_ratio(0.7), Some(100));
        assert_eq!(curve.pages_for_hit_ratio(0.71), Some(1000));
        assert_eq!(curve.pages_for_hit_ratio(0.9), None, "first references always miss");
        assert_eq!(curve.knee().map(|point| point.pages), Some(100));
    }

    #[test]
    fn a_straight_or_empty_curve_has_no_knee() {
        assert_eq!(curve(&[(50, 0.75), (100, 0.5)]).knee(), None);
        assert_eq!(curve(&[(50, 1.0)]).knee(), None);
        assert_eq!(MissRatioCurve::default().knee(), None);
        assert_eq!(MissRatioCurve::default().miss_ratio(10), 1.0);
    }
}
