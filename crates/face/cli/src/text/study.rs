use std::fmt::Write as _;

use findings::{
    Outcome, StudyResult, claims, facts, heading, missed, notes_on_points, points, summary, table,
};

/// Formats the result of a study as text.
pub fn study(result: &StudyResult) -> String {
    let mut out = String::new();
    let mut say = |line: &str| writeln!(out, "{line}").expect("a text grows");
    let how =
        if result.simulated { "simulated" } else { "simulated, and measured where it says so" };
    say(&format!("{}: {} ({how})", result.name, result.title));
    say(&facts(result));
    if !result.complete {
        say("INTERRUPTED: not all runs were done");
    }
    if !result.points.is_empty() {
        say("");
        say(points(&result.points).text("").trim_end());
        notes_on_points(&result.points).iter().for_each(|note| say(note));
    }
    for each in &result.tables {
        say("");
        say(&heading(each));
        say(table(each).text("").trim_end());
    }
    say("");
    say(claims(&result.claims).text("").trim_end());
    for claim in result.claims.iter().filter(|claim| claim.outcome != Outcome::Met) {
        say("");
        missed(claim).iter().for_each(|line| say(line));
    }
    for warning in &result.warnings {
        say("");
        say(&format!("warning: {}", warning.text));
        warning.hint.iter().for_each(|hint| say(&format!("hint: {hint}")));
    }
    say("");
    summary(result).iter().for_each(|line| say(line));
    out
}

#[cfg(test)]
mod tests {
    use ::study::{Options, Point, PointError, Simulate, run};
    use bench::progress::Control;
    use run_store::run::Step;
    use spec::study::{ResolvedConfiguration, resolve_study};

    use super::*;

    /// Simulator that returns steps of [`fixtures::study_step`], up to this number; `None` is
    /// unlimited.
    struct Made(Option<usize>);

    impl Simulate for Made {
        fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
            if self.0 == Some(1) {
                control.interrupt();
            }
            if point.tiles == 3 {
                return Err(PointError::DoesNotFit("3 tiles need more than there is".to_owned()));
            }
            Ok(fixtures::study_step(&point.configuration.name, point.tiles, point.repeat))
        }

        fn working_set(
            &self,
            _: &ResolvedConfiguration,
            share: f64,
            _: u64,
        ) -> Result<f64, PointError> {
            Ok(share * 1e9)
        }
    }

    fn told(made: &Made) -> String {
        let example = resolve_study("example").expect("shipped");
        let result = run(&example, made, &Options::default(), &Control::default(), &mut |_| {});
        study(&result.expect("it runs"))
    }

    #[test]
    fn the_example_with_made_up_steps() {
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        settings.add_filter(r"definitions [0-9a-f]{12}", "definitions [sha256]");
        settings.bind(|| insta::assert_snapshot!("text", told(&Made(None))));
        assert!(told(&Made(Some(1))).contains("INTERRUPTED"));
    }
}
