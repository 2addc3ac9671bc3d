//! Steps inside steps, and the kinds of I/O that they have.

use crate::workload::{Step, Workload};

impl Workload {
    /// Every step of every action, those inside other steps too.
    pub fn each_step<'a>(&'a self, each: &mut impl FnMut(&'a Step)) {
        for action in &self.actions {
            walk(&action.steps, each);
        }
    }

    /// The action and the stage in which I/Os of this kind are, if a stage has any.
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
        match step {
            Step::Parallel(steps) => walk(steps, each),
            Step::Repeat(repeat) => walk(&repeat.steps, each),
            Step::Stage(stage) => walk(&stage.steps, each),
            _ => {}
        }
    }
}

impl Step {
    /// Whether it asks for I/Os of this kind itself.
    fn has_kind(&self, kind: &str) -> bool {
        let named = |own: &Option<String>, of: &str, suffix: &str| match own {
            Some(own) => own == kind,
            None => {
                kind.strip_prefix(of).is_some_and(|rest| rest.strip_prefix('-') == Some(suffix))
            }
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

/// The disk of a running virtual machine that a step asks something of, if it does: by its name, or
/// the smallest.
pub fn disk_asked(step: &Step) -> Option<Option<&str>> {
    match step {
        Step::Move(one) => Some(one.disk.as_deref()),
        Step::Snapshot(one) => Some(one.disk.as_deref()),
        _ => None,
    }
}
