use super::{Answer, Run, Step, UnderOperations};

impl UnderOperations {
    /// What operations cost the tiles at the most tiles that held, in the last repeat that says so.
    pub fn of_held<'a>(answer: &Answer, steps: &'a [Step]) -> Option<&'a Self> {
        let mut held = steps.iter().filter(|step| Some(step.tiles) == answer.tiles_held).rev();
        held.find_map(|step| step.under_operations.as_ref())
    }

    /// `operations 62 % of the time; the tiles' actions then took 1.23 times as long (1.10 to 1.40)
    /// as without`.
    pub fn text(&self) -> String {
        let against = &self.against_rest;
        let times = match (against.times.value, against.low.value, against.high.value) {
            (Some(times), Some(low), Some(high)) => {
                format!("{times:.2} times as long ({low:.2} to {high:.2}) as without")
            }
            (Some(times), ..) => format!("{times:.2} times as long as without"),
            _ => "a time with nothing to compare it to".to_owned(),
        };
        let share = self.share_of_time * 100.0;
        format!("operations {share:.0} % of the time; the tiles' actions then took {times}")
    }
}

impl Run {
    /// What operations cost the tiles at the most tiles that held; none where none ran.
    pub fn operations_text(&self) -> Option<String> {
        UnderOperations::of_held(&self.answer, &self.steps).map(UnderOperations::text)
    }
}
