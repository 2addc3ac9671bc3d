use run_store::run::{Cause, Verdict, Warning};

use crate::verdict::Judged;

/// Identifier of the warning that a queue of accepted mails grew too long. The rig issues it, and
/// it is stored with the step, so that a recheck judges the step in the same way.
pub const QUEUE_GREW: &str = "mail-queue-grew";

/// Fails a step whose accepted mails were not delivered, because responses alone do not show that.
pub fn fail_undelivered(judged: &mut Judged, warnings: &[Warning]) {
    let grew = warnings.iter().find(|warning| warning.id == QUEUE_GREW);
    let Some(warning) = grew.filter(|_| judged.verdict != Verdict::Failed) else { return };
    judged.reason = format!(
        "{} ({}, at most {})",
        warning.text,
        warning.value.as_deref().unwrap_or_default(),
        warning.limit.as_deref().unwrap_or_default()
    );
    (judged.verdict, judged.cause) = (Verdict::Failed, Cause::CallsFailed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::generator_health;
    use crate::window::GeneratorTotals;
    use units::Nanos;

    #[test]
    fn step_whose_queue_grew_has_failed_and_others_stay() {
        let of = |verdict| Judged {
            verdict,
            cause: Cause::LimitsHeld,
            reason: "all is well".to_owned(),
            pooled: Vec::new(),
            instances: Vec::new(),
            hosts: Vec::new(),
            broken: None,
            generator: generator_health(&GeneratorTotals::default(), Nanos::SECOND, None),
        };
        let warning = |id: &str| Warning {
            id: id.to_owned(),
            text: "the queue grew".to_owned(),
            value: Some("131 mails".to_owned()),
            limit: Some("120 mails".to_owned()),
            hint: None,
        };
        let after = |verdict, id| {
            let mut judged = of(verdict);
            fail_undelivered(&mut judged, &[warning("other"), warning(id)]);
            (judged.verdict, judged.cause, judged.reason)
        };
        let reason = "the queue grew (131 mails, at most 120 mails)".to_owned();
        for verdict in [Verdict::Passed, Verdict::Inconclusive] {
            assert_eq!(
                after(verdict, QUEUE_GREW),
                (Verdict::Failed, Cause::CallsFailed, reason.clone())
            );
        }
        for (verdict, id) in [(Verdict::Failed, QUEUE_GREW), (Verdict::Passed, "mail-delivery")] {
            assert_eq!(after(verdict, id), (verdict, Cause::LimitsHeld, "all is well".to_owned()));
        }
    }
}
