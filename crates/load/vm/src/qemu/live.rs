//! Live migration of memory from one process to another.

use std::time::Duration;

use serde_json::{Value, json};

use super::machine::{Base, Begin, Machine};
use super::nodes::Nodes;
use super::{Limits, Vms};
use crate::operation::{Clock, Done};
use crate::qmp::Event;
use crate::{Phase, VmError};

/// Bandwidth limit of the migration, in bytes per second. It is more than two processes reach.
/// Without it, QEMU limits itself to 128 MiB/s, a default for old networks.
const BANDWIDTH: u64 = 10 << 30;

/// Results of a memory migration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub bytes: u64,
    pub stood_still: Duration,
}

/// Prepares both processes: enables events, and pauses the source before the last round if
/// something else must be moved first.
pub(super) fn agree(from: &mut Machine, to: &mut Machine, halts: bool) -> Result<(), VmError> {
    let capability = |name: &str, state: bool| json!({ "capability": name, "state": state });
    let capabilities = json!({ "capabilities": [
        capability("events", true), capability("pause-before-switchover", halts),
    ] });
    from.ask("migrate-set-capabilities", capabilities.clone())?;
    to.ask("migrate-set-capabilities", capabilities)?;
    from.ask("migrate-set-parameters", json!({ "max-bandwidth": BANDWIDTH })).map(drop)
}

/// Starts sending memory.
pub(super) fn send(base: &Base, from: &mut Machine, to: &mut Machine) -> Result<(), VmError> {
    let uri = format!("unix:{}", base.home.path().join(format!("{}.mig", to.name)).display());
    to.ask("migrate-incoming", json!({ "uri": uri }))?;
    from.ask("migrate", json!({ "uri": uri })).map(drop)
}

fn status(event: &Event) -> Option<&str> {
    (event.name == "MIGRATION").then(|| event.data.get("status").and_then(Value::as_str)).flatten()
}

/// Waits for a state of the migration. If it fails, the error has QEMU's reason.
pub(super) fn wait_for(
    from: &mut Machine,
    wanted: &str,
    (what, within): (&'static str, Duration),
) -> Result<(), VmError> {
    let mut is_news = |event: &Event| {
        status(event).is_some_and(|own| own == wanted || own == "failed" || own == "cancelled")
    };
    let event = from.event(what, within, &|| Ok(()), &mut is_news)?;
    if status(&event) == Some(wanted) {
        return Ok(());
    }
    let asked = from.ask("query-migrate", json!({}))?;
    let said = asked.get("error-desc").and_then(Value::as_str).unwrap_or("it failed").to_owned();
    Err(from.not_done(what, &said))
}

/// Waits until the source stops and returns the time. Fails if the migration fails before that.
pub(super) fn wait_for_stop(
    from: &mut Machine,
    limits: &Limits,
    go_on: &dyn Fn() -> Result<(), VmError>,
) -> Result<Duration, VmError> {
    let mut is_news = |event: &Event| {
        event.name == "STOP"
            || status(event).is_some_and(|own| own == "failed" || own == "cancelled")
    };
    let what = "sending its memory";
    let event = from.event(what, limits.copying, go_on, &mut is_news)?;
    if event.name == "STOP" {
        return Ok(event.at);
    }
    let asked = from.ask("query-migrate", json!({}))?;
    let said = asked.get("error-desc").and_then(Value::as_str).unwrap_or("it failed").to_owned();
    Err(from.not_done(what, &said))
}

/// Waits until the virtual machine runs at its destination. This wait cannot be interrupted: once
/// the virtual machine is paused, completing the migration is the shortest way to a running one.
pub(super) fn arrive(
    from: &mut Machine,
    to: &mut Machine,
    stopped: Duration,
    limits: &Limits,
) -> Result<Moved, VmError> {
    let what = "the switch-over";
    wait_for(from, "completed", (what, limits.switch_over))?;
    let mut is_resumed = |event: &Event| event.name == "RESUME";
    let resumed = to.event(what, limits.switch_over, &|| Ok(()), &mut is_resumed)?;
    let asked = from.ask("query-migrate", json!({}))?;
    let bytes = asked.pointer("/ram/transferred").and_then(Value::as_u64).unwrap_or(0);
    Ok(Moved { bytes, stood_still: resumed.at.saturating_sub(stopped) })
}

/// Cancels a migration in any state.
pub(super) fn cancel(from: &mut Machine) {
    let is_over = |state: &str| matches!(state, "completed" | "failed" | "cancelled" | "none" | "");
    let _ = from.ask("migrate_cancel", json!({}));
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while std::time::Instant::now() < until {
        let Ok(asked) = from.ask("query-migrate", json!({})) else { return };
        if is_over(asked.get("status").and_then(Value::as_str).unwrap_or_default()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Vms {
    /// Migrates the virtual machine to another process. Its disk stays.
    pub fn live_migration(&mut self, base: &Base, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let (name, aio) = (self.next_name(), self.aio);
        let vm = self.resident()?;
        vm.machine.qmp.forget_events();
        let node = if vm.machine.root == "disk0" { "disk1" } else { "disk0" };
        let nodes = Nodes::plain(&vm.disk, node, aio);
        let mut to = base.start(&name, &vm.work, Some(&nodes), Begin::Incoming)?;
        let limits = &base.limits;
        let sent: Result<Moved, VmError> = (|| {
            agree(&mut vm.machine, &mut to, false)?;
            clock.go_on()?;
            send(base, &mut vm.machine, &mut to)?;
            let stopped = wait_for_stop(&mut vm.machine, limits, &|| clock.go_on())?;
            clock.end(Phase::Copying);
            let moved = arrive(&mut vm.machine, &mut to, stopped, limits)?;
            clock.end(Phase::SwitchOver);
            Ok(moved)
        })();
        let Moved { bytes, stood_still } = match sent {
            Ok(moved) => moved,
            Err(error) => {
                // The destination ends first: if it hangs, it would hold the source.
                drop(to);
                cancel(&mut vm.machine);
                return Err(error);
            }
        };
        // From here on the disk belongs to the new process, and there is no way back.
        drop(std::mem::replace(&mut vm.machine, to));
        let checked = vm.check(limits, &|| clock.go_on())?;
        clock.end(Phase::Check);
        Ok(Done { stood_still: Some(stood_still), copied_bytes: bytes, checked })
    }
}
