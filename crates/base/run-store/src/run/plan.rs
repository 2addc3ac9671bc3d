//! Number of virtual machines to plan with, by speed and by room, as sentences.

use units::Bytes;
use units::print::{count, whole};

use super::sentence::sentences;
use super::{Capacity, Edge, EstateFacts, Run, Status};

impl Run {
    /// Returns sentences to plan with; the stricter of speed and room comes first: `Plan with 24
    /// VMs: 3 tiles at full size have room (64 GiB a tile, 200 GiB may be used). At least 104 VMs
    /// are fast enough with smaller disks.` For speed, the lower end of the confidence interval is
    /// used. `None` if neither is known.
    pub fn plan_text(&self) -> Option<String> {
        let room = self.answer.capacity.map(|room| Room::of(self, room));
        let Some(low) = self.lowest_held() else {
            let unknown =
                "No recommended number of VMs: it was not decided how many are fast enough";
            return room.map(|room| match self.space_cap() {
                Some(cap) => sentences(&format!("{unknown}; {}", room.held_to(cap))),
                None => sentences(&format!("{unknown}; {}", room.text)),
            });
        };
        let speed = Speed { run: self, low, vms: self.vms_in(low) };
        let why = match (room, self.space_cap()) {
            _ if low == 0 => return Some(format!("{}: {}.", self.plan_with(0), speed.tiles())),
            (Some(room), Some(cap)) if room.vms < speed.vms => {
                let needed = room.needed(speed.vms);
                let plan = self.plan_with(speed.vms);
                format!(
                    "{plan} if there is room for {needed}: {}; {}",
                    speed.tiles(),
                    room.held_to(cap)
                )
            }
            (Some(room), _) if room.vms < speed.vms => {
                let plan = self.plan_with(room.vms);
                format!("{plan}: {}; {}", room.text, speed.machines())
            }
            (Some(room), _) => {
                let plan = self.plan_with(speed.vms);
                format!("{plan}: {}; {}{}", speed.tiles(), room.text, self.open())
            }
            (None, cap) => {
                format!("{}{}{}", self.plan_with(speed.vms), speed.alone(cap), self.open())
            }
        };
        Some(sentences(&why))
    }

    /// Returns the lower end of the interval of tiles, or `tiles_held` without an interval; `None`
    /// if the run decided nothing.
    fn lowest_held(&self) -> Option<u32> {
        let answer = &self.answer;
        let is_wrong = answer.is_of_wrong_model(self.target.is_simulated());
        let low = answer.tiles_interval.map(|own| own.low).or(answer.tiles_held);
        low.filter(|_| !is_wrong)
    }

    /// Returns a suffix that says that the search did not end; empty if it did.
    fn open(&self) -> &'static str {
        match self.answer.status {
            Status::Complete => "",
            Status::Interrupted | Status::Inconclusive => "; more was not decided",
        }
    }

    fn vms_in(&self, tiles: u32) -> u32 {
        self.tile
            .estate
            .map_or_else(|| tiles.saturating_mul(self.tile.vms), |own| own.vms_in(tiles))
    }

    /// Returns a text such as `Plan with 24 VMs`, `Plan with 91 of your 143 VMs`.
    fn plan_with(&self, vms: u32) -> String {
        let many = match self.tile.estate {
            Some(own) if vms == own.vms => format!("all of your {}", count(vms.into(), "VM")),
            Some(own) => format!("{} of your {}", some_or_none(vms), count(own.vms.into(), "VM")),
            None if vms == 0 => "no VM".to_owned(),
            None => count(vms.into(), "VM"),
        };
        let model = if self.target.is_simulated() { " by this model" } else { "" };
        format!("Plan with {many}{model}")
    }

    /// Returns the value of `--space-max` if it, and not the datastore, limited the room.
    fn space_cap(&self) -> Option<Bytes> {
        let setting = self.plan.iter().find(|value| value.key == "engine.space-max")?;
        let cap: Bytes = serde_json::from_value(setting.value.clone()).ok()?;
        (self.target.capacity_bytes? >= cap.get()).then_some(cap)
    }
}

/// Formats a number; 0 becomes `none`.
fn some_or_none(number: u32) -> String {
    if number == 0 { "none".to_owned() } else { whole(number.into()) }
}

/// Selects the form of a verb: `one` for at most 1, else `many`.
fn verb(number: u32, [one, many]: [&str; 2]) -> &str {
    if number <= 1 { one } else { many }
}

/// Number of virtual machines that are fast enough.
struct Speed<'a> {
    run: &'a Run,
    low: u32,
    vms: u32,
}

impl Speed<'_> {
    fn machines(&self) -> String {
        self.text(self.vms, "VM")
    }

    fn tiles(&self) -> String {
        self.text(self.low, "tile")
    }

    fn text(&self, number: u32, noun: &str) -> String {
        let disks = if self.has_smaller_disks() { " with smaller disks" } else { "" };
        let is = format!("{} fast enough{disks}", verb(number, ["is", "are"]));
        match self.run.tile.estate {
            Some(own) if self.vms == own.vms => format!("all of them are fast enough{disks}"),
            Some(_) if self.low > 0 => {
                let are = verb(self.vms, ["is", "are"]);
                format!(
                    "{}{} of them {are} fast enough{disks}",
                    self.least(),
                    some_or_none(self.vms)
                )
            }
            _ if self.low > 0 => format!("{}{} {is}", self.least(), count(number.into(), noun)),
            _ if self.is_exact() => format!("no tile {is}"),
            _ => format!("it is not certain that 1 tile {is}"),
        }
    }

    /// Returns the end of the sentence for a run in which the room for disks of full size is
    /// unknown.
    fn alone(&self, cap: Option<Bytes>) -> String {
        let run = self.run;
        if self.has_smaller_disks() {
            return format!(" if their disks have room at full size: {}", self.tiles());
        }
        let (true, Some(bytes)) =
            (run.answer.edge == Edge::CapacityReached, run.target.capacity_bytes)
        else {
            return format!(": {}", self.tiles());
        };
        let (each, all) = (Bytes::new(run.tile.disk_bytes), Bytes::new(bytes));
        let may = match cap {
            Some(_) => format!("--space-max allowed {all}"),
            None => format!("{all} may be used"),
        };
        format!(": {}, and no more have room ({each} a tile, {may})", self.tiles())
    }

    /// Returns `at least `, or nothing if the exact maximum number of tiles is known.
    fn least(&self) -> &'static str {
        if self.is_exact() { "" } else { "at least " }
    }

    fn is_exact(&self) -> bool {
        let answer = &self.run.answer;
        match answer.tiles_interval {
            Some(own) => own.high == Some(own.low),
            None => answer.is_bounded(),
        }
    }

    fn has_smaller_disks(&self) -> bool {
        self.run.scale.footprint < 1.0
    }
}

/// Number of virtual machines that have room with disks of full size.
struct Room {
    vms: u32,
    text: String,
    /// Number of virtual machines, and the bytes that they need together.
    each: (u32, Bytes),
    unit: &'static str,
}

impl Room {
    fn of(run: &Run, room: Capacity) -> Self {
        let may = Bytes::new(room.bytes);
        if let Some(own) = run.tile.estate {
            return Self::of_estate(own, may);
        }
        let tiles = match room.tiles {
            0 => "no tile".to_owned(),
            tiles => count(tiles.into(), "tile"),
        };
        let (each, has) = (Bytes::new(room.tile_bytes), verb(room.tiles, ["has", "have"]));
        Self {
            vms: room.tiles.saturating_mul(run.tile.vms),
            text: format!("{tiles} at full size {has} room ({each} a tile, {may} may be used)"),
            each: (run.tile.vms, each),
            unit: "a tile",
        }
    }

    fn of_estate(own: EstateFacts, may: Bytes) -> Self {
        let all = Bytes::new(own.capacity_bytes);
        let vms = own.vms_within(may);
        let them = if vms == own.vms { "all".to_owned() } else { some_or_none(vms) };
        let has = verb(vms, ["has", "have"]);
        Self {
            vms,
            text: format!(
                "{them} of them {has} room at full size (all hold {all}, {may} may be used)"
            ),
            each: (own.vms, all),
            unit: "in all",
        }
    }

    /// Returns the bytes that `vms` virtual machines need at full size.
    fn needed(&self, vms: u32) -> Bytes {
        let (of, bytes) = self.each;
        let all = u128::from(bytes.get()) * u128::from(vms) / u128::from(of.max(1));
        Bytes::new(u64::try_from(all).unwrap_or(u64::MAX))
    }

    /// Returns the text for a run whose room was limited by `--space-max`, so that the datastore's
    /// own room is unknown.
    fn held_to(&self, cap: Bytes) -> String {
        let (_, each) = self.each;
        format!(
            "this run limited the size of its disks to {cap} (--space-max); at full size they have \
             {each} {}",
            self.unit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClimbFacts, ModelError, Origin, PlanValue, TilesInterval};
    use super::*;

    /// Returns a finished run with 8 VMs per tile, and an interval from `low` to `high` tiles.
    fn run(low: u32, high: Option<u32>) -> Run {
        let golden = include_str!("../../tests/golden/run-1.0.json");
        let mut run = super::super::parse(golden).expect("a run");
        (run.tile.vms, run.tile.disk_bytes, run.scale.footprint) = (8, 64 << 30, 1.0);
        run.target.kind = "directory".to_owned();
        run.plan.clear();
        let answer = &mut run.answer;
        answer.status = Status::Complete;
        answer.tiles_held = Some(low);
        answer.tiles_interval =
            Some(TilesInterval { low, high, most_likely: None, confidence: 0.95 });
        answer.edge = Edge::LimitBroken;
        run
    }

    /// Scales the run's disks to 1/512. The room for disks of full size is `bytes`.
    fn with_room(mut run: Run, bytes: u64) -> Run {
        let tile_bytes = 64 << 30;
        let tiles = u32::try_from(bytes / tile_bytes).expect("few");
        run.scale.footprint = 1.0 / 512.0;
        run.target.capacity_bytes = Some(bytes);
        run.answer.capacity = Some(Capacity { tiles, tile_bytes, bytes });
        run
    }

    fn of_wrong_model() -> ClimbFacts {
        let error = ModelError {
            searched: None,
            is_interval_widened: false,
            is_too_far: true,
            text: "it is far off".to_owned(),
        };
        ClimbFacts { model_error: Some(error), ..ClimbFacts::default() }
    }

    fn told(run: &Run) -> String {
        run.plan_text().expect("something is known")
    }

    #[test]
    fn the_tighter_of_speed_and_room_comes_first() {
        assert_eq!(
            told(&with_room(run(13, Some(17)), 200 << 30)),
            "Plan with 24 VMs: 3 tiles at full size have room (64 GiB a tile, 200 GiB may be \
             used). At least 104 VMs are fast enough with smaller disks."
        );
        assert_eq!(
            told(&with_room(run(2, Some(2)), 200 << 30)),
            "Plan with 16 VMs: 2 tiles are fast enough with smaller disks. 3 tiles at full \
             size have room (64 GiB a tile, 200 GiB may be used)."
        );
        assert_eq!(
            told(&with_room(run(13, None), 18 << 30)),
            "Plan with no VM: no tile at full size has room (64 GiB a tile, 18 GiB may be used). \
             At least 104 VMs are fast enough with smaller disks."
        );
    }

    #[test]
    fn speed_alone_is_told_where_disks_had_their_full_size() {
        assert_eq!(told(&run(1, Some(1))), "Plan with 8 VMs: 1 tile is fast enough.");
        let mut full = run(3, None);
        (full.answer.edge, full.target.capacity_bytes) = (Edge::CapacityReached, Some(200 << 30));
        assert_eq!(
            told(&full),
            "Plan with 24 VMs: at least 3 tiles are fast enough, and no more have room (64 GiB a \
             tile, 200 GiB may be used)."
        );
        full.target.kind = super::super::SIMULATED.to_owned();
        assert!(told(&full).starts_with("Plan with 24 VMs by this model: "), "{}", told(&full));
    }

    #[test]
    fn a_cap_of_the_run_is_not_taken_for_the_room_of_the_disk() {
        let mut capped = with_room(run(3, None), 2 << 30);
        capped.plan.push(PlanValue {
            key: "engine.space-max".to_owned(),
            value: "2GiB".into(),
            origin: Origin::Flag,
        });
        assert_eq!(
            told(&capped),
            "Plan with 24 VMs if there is room for 192 GiB: at least 3 tiles are fast enough with \
             smaller disks. This run limited the size of its disks to 2 GiB (--space-max). At full size they \
             have 64 GiB a tile."
        );
        capped.target.capacity_bytes = Some(1 << 30);
        assert!(told(&capped).starts_with("Plan with no VM: "), "less was free than allowed");
    }

    #[test]
    fn nothing_fast_enough_is_no_count_to_plan_with() {
        let slow = told(&with_room(run(0, Some(0)), 200 << 30));
        assert_eq!(slow, "Plan with no VM: no tile is fast enough with smaller disks.");
        let perhaps = told(&run(0, Some(1)));
        let text = "Plan with no VM: it is not certain that 1 tile is fast enough.";
        assert_eq!(perhaps, text);
        let mut open = run(2, None);
        (open.answer.status, open.answer.edge) = (Status::Inconclusive, Edge::None);
        assert_eq!(
            told(&open),
            "Plan with 16 VMs: at least 2 tiles are fast enough. More was not decided."
        );
        open.answer.climb = Some(of_wrong_model());
        assert_eq!(open.plan_text(), None, "a model that is too far off");
        assert_eq!(
            told(&with_room(open, 200 << 30)),
            "No recommended number of VMs: it was not decided how many are fast enough. 3 tiles at \
             full size have room (64 GiB a tile, 200 GiB may be used)."
        );
    }

    #[test]
    fn an_estate_is_planned_in_its_own_machines() {
        let estate =
            EstateFacts { vms: 143, tiles: 11.0, capacity_bytes: 704 << 30, measured: 1.0 };
        let of = |mut run: Run| {
            run.tile.estate = Some(estate);
            told(&run)
        };
        assert_eq!(
            of(with_room(run(14, Some(17)), 352 << 30)),
            "Plan with 71 of your 143 VMs: 71 of them have room at full size (all hold 704 GiB, \
             352 GiB may be used). All of them are fast enough with smaller disks."
        );
        assert_eq!(
            of(with_room(run(7, Some(8)), 800 << 30)),
            "Plan with 91 of your 143 VMs: at least 91 of them are fast enough with smaller \
             disks. All of them have room at full size (all hold 704 GiB, 800 GiB may be used)."
        );
        let all = of(run(14, None));
        assert_eq!(all, "Plan with all of your 143 VMs: all of them are fast enough.");
    }
}
