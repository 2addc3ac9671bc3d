//! Services of a user that answer nothing. Their failures say nothing about the storage.

use std::collections::BTreeMap;
use std::fmt;

use run_store::run::{CallErrors, Cause, Verdict, Warning};
use run_store::slice::CallRow;
use spec::workload::Protocol;
use state_machine::CallError;

use crate::verdict::{Judged, StepJudge};
use crate::window::Window;

/// Identifier of the warning that a service answered no call. It is stored with the step, so that a
/// recheck judges the step in the same way.
const ANSWERED_NOTHING: &str = "service-answered-nothing";

impl StepJudge<'_> {
    /// Returns a warning for each service of the user that was called and answered none of the
    /// calls, with its address from `address_of`. Returns none if other calls failed, too:
    ///
    /// - A call that timed out may have waited for the storage.
    /// - Servers without an address are the run's own, on the measured storage.
    pub fn silent_services<A: fmt::Display>(
        &self,
        window: &Window,
        address_of: impl Fn(&str) -> Option<A>,
    ) -> Vec<Warning> {
        let mut services: BTreeMap<&str, CallRow> = BTreeMap::new();
        for (member, (totals, entry)) in
            self.members.iter().zip(window.instances.iter().zip(&self.topology.instances))
        {
            let workload = self.workload(*member);
            for (kind, row) in &totals.calls {
                let endpoint = workload.endpoint_of_kind(&entry.kinds[usize::from(*kind)]);
                // An operation on virtual machines has no service besides them.
                let Some(own) = endpoint.filter(|own| own.protocol != Protocol::Vm) else {
                    continue;
                };
                let sum = services.entry(&own.name);
                sum.and_modify(|sum| sum.merge(row)).or_insert_with(|| row.clone());
            }
        }
        let is_silent = |row: &CallRow| {
            row.service.count() == 0 && row.errors[CallError::TimedOut as usize] == 0
        };
        let failed = services.into_iter().filter(|(_, row)| row.failed() > 0);
        let warning = |(name, row): (&str, CallRow)| {
            let address = address_of(name).filter(|_| is_silent(&row))?;
            Some(Warning {
                id: ANSWERED_NOTHING.to_owned(),
                text: format!("the service of {name} ({address}) answered no call"),
                value: Some(CallErrors::told(&CallErrors::of(&row.errors))),
                limit: None,
                hint: Some("test the service with its own client, and read its log".to_owned()),
            })
        };
        failed.map(warning).collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}

/// Leaves a step without a result if it failed because a service answered no call.
pub fn excuse_silent_service(judged: &mut Judged, warnings: &[Warning]) {
    let silent = warnings.iter().find(|warning| warning.id == ANSWERED_NOTHING);
    let is_of_calls = matches!(judged.cause, Cause::CallsFailed | Cause::NoAnswer | Cause::GaveUp);
    let Some(warning) = silent.filter(|_| judged.verdict == Verdict::Failed && is_of_calls) else {
        return;
    };
    let value = warning.value.as_deref().unwrap_or_default();
    judged.reason = format!("{} ({value}), which is no result about the storage", warning.text);
    judged.verdict = Verdict::Inconclusive;
}
