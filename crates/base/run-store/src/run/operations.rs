use super::{Run, Step, UnderOperations};

impl UnderOperations {
    /// Returns a text such as `62 % of the time; the tiles' actions then took 1.23 times as long
    /// (1.10 to 1.40) as without`.
    fn text(&self) -> String {
        let against = &self.against_rest;
        let times = match (against.times.value, against.low.value, against.high.value) {
            (Some(times), Some(low), Some(high)) => {
                format!("{times:.2} times as long ({low:.2} to {high:.2}) as without")
            }
            (Some(times), ..) => format!("{times:.2} times as long as without"),
            _ => "a time with nothing to compare it to".to_owned(),
        };
        let share = self.share_of_time * 100.0;
        format!("{share:.0} % of the time; the tiles' actions then took {times}")
    }
}

impl Run {
    /// Describes the effect of infrastructure operations on the tiles at `tiles_held`, from the
    /// last repeat that recorded it. `None` if no operations ran.
    pub fn operations_text(&self) -> Option<String> {
        let is_held = |step: &&Step| Some(step.tiles) == self.answer.tiles_held;
        let mut held = self.steps.iter().filter(is_held).rev();
        held.find_map(|step| step.under_operations.as_ref()).map(UnderOperations::text)
    }
}
