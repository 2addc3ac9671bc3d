use units::Nanos;

use super::parameters::HddParameters;
use crate::error::{Check, ParameterError};

/// Size of a sector, in bytes.
pub const SECTOR: u64 = 512;

/// Positions of sectors on a disk. The disk has zones of equal numbers of cylinders. Within a zone,
/// sectors run along a track, then over the heads, then to the next cylinder. Each track begins one
/// track switch later in the revolution than the track before, so that reading on never misses a
/// revolution.
#[derive(Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    /// Time of a revolution, in nanoseconds.
    pub turn: u64,
    skew: u64,
    pub cylinders: u32,
    pub sectors: u64,
}

#[derive(Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    /// Number of sectors on one track.
    track: u64,
}

/// Position of a sector on the platters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorPlace {
    pub cylinder: u32,
    /// Time in a revolution at which the sector's start passes the head, in nanoseconds.
    pub angle: u64,
    /// Number of sectors before it on its track.
    before: u64,
    /// Number of sectors on one track.
    track: u64,
}

impl Geometry {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates and times were checked to be positive and small"
    )]
    pub fn new(parameters: &HddParameters) -> Result<Self, ParameterError> {
        let check = Check("hdd");
        let HddParameters { rpm, heads, zones, rate_outer, rate_inner, .. } = *parameters;
        check.that((1000..=30_000).contains(&rpm), "rpm", rpm, "1,000 to 30,000")?;
        check.that(heads > 0, "heads", heads, "at least 1")?;
        check.that((1..=1000).contains(&zones), "zones", zones, "1 to 1,000")?;
        let is_rate = rate_inner > 1e6 && rate_inner <= rate_outer && rate_outer < 1e10;
        let rates = format!("{rate_inner} to {rate_outer} B/s");
        check.that(is_rate, "rates", rates, "rising, 1 MB/s to 10 GB/s")?;
        let sectors = parameters.capacity.get() / SECTOR;
        check.that(sectors >= 2048, "capacity", parameters.capacity, "at least 1 MiB")?;

        let (turn, skew) = (60_000_000_000 / u64::from(rpm), parameters.track_switch.0);
        let sector_rate = (turn + skew) as f64 / 1e9 / SECTOR as f64;
        let tracks: Vec<u64> = (0..zones)
            .map(|zone| {
                let share = f64::from(zone) / f64::from((zones - 1).max(1));
                let rate = rate_outer - (rate_outer - rate_inner) * share;
                ((rate * sector_rate) as u64).max(1)
            })
            .collect();
        let per_cylinder: u64 = tracks.iter().sum::<u64>() * u64::from(heads);
        let zone_cylinders = sectors.div_ceil(per_cylinder);
        let mut first_sector = 0;
        let zones = (0..).zip(tracks).map(|(number, track)| {
            let zone = Zone { first_sector, first_cylinder: number * zone_cylinders, track };
            first_sector += zone_cylinders * u64::from(heads) * track;
            zone
        });
        let zones: Vec<Zone> = zones.collect();
        let cylinders = u32::try_from(zone_cylinders * zones.len() as u64).unwrap_or(u32::MAX);
        Ok(Self { zones, heads: u64::from(heads), turn, skew, cylinders, sectors })
    }

    /// Finds the position of a sector; it must be below the capacity.
    #[inline]
    pub fn locate(&self, sector: u64) -> SectorPlace {
        let zone = self.zones.partition_point(|zone| zone.first_sector <= sector) - 1;
        let zone = &self.zones[zone];
        let within = sector - zone.first_sector;
        let (number, before) = (within / zone.track, within % zone.track);
        let cylinder = zone.first_cylinder + number / self.heads;
        let track_number = zone.first_cylinder * self.heads + number;
        SectorPlace {
            cylinder: u32::try_from(cylinder).unwrap_or(u32::MAX),
            angle: (before * self.turn / zone.track + track_number % self.turn * self.skew)
                % self.turn,
            before,
            track: zone.track,
        }
    }

    /// Returns the time from the first sector under the head to the end of the last one, including
    /// switches between tracks. A transfer that crosses into another zone keeps the rate of its
    /// first zone.
    #[inline]
    pub fn transfer(&self, place: &SectorPlace, sectors: u64) -> Nanos {
        let switches = (place.before + sectors.saturating_sub(1)) / place.track;
        Nanos(sectors * self.turn / place.track + switches * self.skew)
    }

    /// Returns the time from `now` until this angle passes the head.
    #[inline]
    pub fn rotation(&self, now: Nanos, angle: u64) -> Nanos {
        let head = now.0 % self.turn;
        Nanos(if angle >= head { angle - head } else { angle + self.turn - head })
    }

    /// Returns the number of sectors that pass in a time when reading on from a position, including
    /// switches.
    #[inline]
    pub fn passed(&self, place: &SectorPlace, time: Nanos) -> u64 {
        let sectors =
            u128::from(time.0) * u128::from(place.track) / u128::from(self.turn + self.skew);
        u64::try_from(sectors).unwrap_or(u64::MAX)
    }

    /// Returns the time in which so many sectors pass: the inverse of [`Self::passed`].
    #[inline]
    pub fn reading_on(&self, place: &SectorPlace, sectors: u64) -> Nanos {
        Nanos((sectors * (self.turn + self.skew)).div_ceil(place.track))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::HddPreset;
    use super::*;

    fn geometry() -> Geometry {
        Geometry::new(&HddPreset::Rpm10k.parameters()).expect("a preset is valid")
    }

    #[test]
    fn every_sector_has_a_place_and_cylinders_rise_with_it() {
        let geometry = geometry();
        let mut last = 0;
        for step in 0..10_000 {
            let place = geometry.locate(geometry.sectors / 10_000 * step);
            assert!(place.cylinder >= last && place.cylinder < geometry.cylinders);
            assert!(place.angle < geometry.turn && place.before < place.track);
            last = place.cylinder;
        }
    }

    /// The next track's first sector arrives under the head just when a continued transfer needs
    /// it.
    #[test]
    fn reading_over_a_track_boundary_loses_the_switch_and_no_turn() {
        let geometry = geometry();
        let start = geometry.locate(0);
        let next = geometry.locate(start.track);
        let after = geometry.transfer(&start, start.track) + Nanos(geometry.skew);
        assert_eq!((start.angle + after.0) % geometry.turn, next.angle);
        let both = geometry.transfer(&start, start.track + 1);
        assert!(both > after && both < after + Nanos(geometry.turn / 100));
    }

    #[test]
    fn the_outer_edge_sustains_its_rate() {
        let geometry = geometry();
        let sectors = 1_000_000;
        let time = geometry.transfer(&geometry.locate(0), sectors).as_secs_f64();
        let rate = (sectors * SECTOR) as f64 / time;
        assert!((rate / 124e6 - 1.0).abs() < 0.002, "{rate}");
    }
}
