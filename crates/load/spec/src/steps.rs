//! Nested steps, and their kinds of I/O.

use crate::endpoint::Endpoint;
use crate::workload::{Step, Workload};

impl Workload {
    /// Calls `each` with every step of every action, including nested steps.
    pub fn each_step<'a>(&'a self, each: &mut impl FnMut(&'a Step)) {
        for action in &self.actions {
            walk(&action.steps, each);
        }
    }

    /// Returns the endpoint of a kind of calls; `None` if no step makes calls of this kind.
    pub fn endpoint_of_kind(&self, kind: &str) -> Option<&Endpoint> {
        let mut name = None;
        self.each_step(&mut |step| {
            if let Step::Call(call) = step
                && is_kind(kind, call.kind.as_deref(), &call.endpoint, "call")
            {
                name = Some(&call.endpoint);
            }
        });
        self.endpoints.iter().find(|own| Some(&own.name) == name)
    }

    /// Returns the action and the stage that contain I/Os of this kind; `None` if they are in no
    /// stage.
    pub fn stage_of_kind(&self, kind: &str) -> Option<(&str, &str)> {
        self.actions.iter().find_map(|action| {
            let stage = action.steps.iter().find_map(|step| match step {
                Step::Stage(stage) => {
                    let mut is_there = false;
                    walk(&stage.steps, &mut |step| is_there |= step.has_kind(kind));
                    is_there.then_some(stage.name.as_str())
                }
                _ => None,
            })?;
            Some((action.name.as_str(), stage))
        })
    }
}

fn walk<'a>(steps: &'a [Step], each: &mut impl FnMut(&'a Step)) {
    for step in steps {
        each(step);
        walk(step.inner(), each);
    }
}

/// Returns true for the given name of a kind, or for its default `OF-SUFFIX`.
fn is_kind(kind: &str, own: Option<&str>, of: &str, suffix: &str) -> bool {
    match own {
        Some(own) => own == kind,
        None => kind.strip_prefix(of).is_some_and(|rest| rest.strip_prefix('-') == Some(suffix)),
    }
}

impl Step {
    /// Returns the steps inside this step; an empty list if it is not made of steps.
    pub fn inner(&self) -> &[Self] {
        match self {
            Self::Parallel(steps) => steps,
            Self::Repeat(repeat) => &repeat.steps,
            Self::Stage(stage) => &stage.steps,
            Self::Commit(commit) => &commit.steps,
            _ => &[],
        }
    }

    /// Returns true if the step, or a step in it, issues an I/O or a call.
    pub(crate) fn has_io(&self) -> bool {
        match self {
            Self::Cpu(_) | Self::Wait(_) => false,
            Self::Parallel(_) | Self::Repeat(_) | Self::Stage(_) | Self::Commit(_) => {
                self.inner().iter().any(Self::has_io)
            }
            _ => true,
        }
    }

    /// Returns true if the step itself issues I/Os of this kind.
    fn has_kind(&self, kind: &str) -> bool {
        let named = |own: &Option<String>, of: &str, suffix: &str| {
            is_kind(kind, own.as_deref(), of, suffix)
        };
        match self {
            Self::Read(own) => named(&own.kind, &own.disk, "read"),
            Self::Write(own) => named(&own.kind, &own.disk, "write"),
            Self::Append(own) => named(&own.kind, &own.disk, "append"),
            Self::Flush(own) => named(&own.kind, &own.disk, "flush"),
            Self::Copy(own) => {
                named(&None, &own.from, "copy-read") || named(&None, &own.to, "copy-write")
            }
            Self::Check(own) => named(&None, &own.from, "check") || named(&None, &own.to, "check"),
            Self::Link(own) => named(&None, &own.to, "link"),
            Self::Destroy(own) => named(&None, &own.disk, "destroy"),
            _ => false,
        }
    }
}

/// Returns the disk of a running virtual machine that a step uses: its name, or `Some(None)` for
/// the smallest disk. Returns `None` if the step uses no such disk.
pub fn disk_asked(step: &Step) -> Option<Option<&str>> {
    match step {
        Step::Move(one) => Some(one.disk.as_deref()),
        Step::Snapshot(one) => Some(one.disk.as_deref()),
        _ => None,
    }
}
