//! Storage protocol through which a run's disks are reached: its checks before the run, and its
//! facts in the result.

use datastore::Target;
use over::MountedExport;
use run_store::run::{ServedOver, Warning};
use spec::over::{Over as Word, OverSetting};
use spec::workload::Workload;

use crate::error::BenchError;
use crate::plan::ResolvedPlan;
use crate::rig::Over;
use crate::run::{RunOptions, Site};

/// A protocol whose programs have been checked. Nothing is created yet.
#[derive(Debug, Clone)]
pub struct CheckedOver {
    protocol: &'static dyn over::Protocol,
    checked: over::Checked,
}

impl CheckedOver {
    /// Returns the protocol of a plan, after checking its programs; `None` if the plan has no
    /// protocol.
    ///
    /// # Errors
    ///
    /// Another feature also uses the disks, the datastore has no file for each disk, a program is
    /// missing, too old or not allowed, or requests are smaller than the sectors of the disks.
    pub(super) fn of(
        plan: &ResolvedPlan,
        options: &RunOptions,
        target: &Target,
    ) -> Result<Option<Self>, BenchError> {
        let over = plan.settings.engine.over.as_ref();
        // An existing export is the datastore itself, and needs no server.
        let Some(word) = over.and_then(Word::protocol) else { return Ok(None) };
        refuse_others(plan, options)?;
        let facts = target.facts();
        if !facts.is_file_per_disk {
            let (target, noun) = (plan.datastore.clone(), facts.noun);
            return Err(BenchError::OverTarget { target, noun });
        }
        let found = Self::find(word)?;
        let facts = found.protocol.facts();
        let fits = |workload: &Workload| workload::fits_sectors(workload, facts.sector);
        match plan.tile_set.all().find(|(workload, _)| !fits(workload)) {
            Some((workload, _)) => Err(BenchError::OverSectors {
                protocol: facts.word,
                sector: facts.sector,
                workload: workload.name.clone(),
            }),
            None => Ok(Some(found)),
        }
    }

    /// Checks the programs of a protocol, without creating anything.
    ///
    /// # Errors
    ///
    /// A program is missing, too old or not allowed.
    pub fn find(setting: OverSetting) -> Result<Self, BenchError> {
        let protocol = over::find(setting.protocol.word());
        let protocol = protocol.expect("a test compares the texts with the protocols");
        let checked = over::check(protocol, setting.mtu)?;
        Ok(Self { protocol, checked })
    }

    /// Converts to the protocol of a rig.
    pub fn into_over(self, run_id: &str) -> Over {
        Over::new(self.protocol, self.checked, run_id.to_owned())
    }

    /// Adds the protocol to the facts about the run.
    pub(super) fn describe(&self, site: &mut Site) {
        let served = self.facts();
        let ServedOver { protocol, server, server_version, .. } = &served;
        site.target.summary =
            format!("{}; over {protocol} ({server} {server_version})", site.target.summary);
        site.target.over = Some(served);
        site.warnings.extend(self.warnings());
    }

    /// Returns facts about the programs, the hop and the network, for results.
    pub fn facts(&self) -> ServedOver {
        let facts = self.protocol.facts();
        let over::Checked { server, initiator, .. } = &self.checked;
        let own_version = env!("CARGO_PKG_VERSION");
        let initiator_version = initiator.as_ref().map_or(own_version, |own| &own.version);
        ServedOver {
            protocol: facts.word.to_owned(),
            server: server.name.to_owned(),
            server_version: server.version.clone(),
            initiator: facts.initiator.to_owned(),
            initiator_version: initiator_version.to_owned(),
            hop: facts.hop.to_owned(),
            network: self.checked.network(facts),
        }
    }

    /// Returns warnings about the limits of figures that are measured over the protocol.
    pub fn warnings(&self) -> Vec<Warning> {
        let facts = self.protocol.facts();
        let hop = format!(
            "{} on this computer gives access to the disks ({}): server, initiator and load share \
             its processors. Another initiator or a real network differs",
            facts.word, facts.hop
        );
        let mut warnings = vec![note("over-hop", hop)];
        if !facts.server_cache.is_empty() {
            warnings.push(note("over-server-cache", facts.server_cache.to_owned()));
        }
        let loads = self.checked.loads();
        if !loads.is_empty() {
            let text = format!("loaded into the kernel, where they stay: {}", loads.join(", "));
            warnings.push(note("over-modules", text));
        }
        warnings
    }
}

/// Records in the run's facts that its datastore is an existing export.
pub(super) fn describe_export(export: &MountedExport, site: &mut Site) {
    let served = facts_of_export(export);
    site.target.datastore = export.facts().export.to_string();
    site.target.summary =
        format!("{}; over {} from {}", site.target.summary, served.protocol, served.server);
    let hop = format!(
        "the datastore is an export of the server {}, mounted by {}: a kernel client differs, and \
         the server's processors and caches cannot be seen",
        served.server, served.hop
    );
    site.warnings.push(note("over-hop", hop));
    site.target.over = Some(served);
}

/// Returns facts about the server, the hop and the network of an export, for results.
pub(super) fn facts_of_export(export: &MountedExport) -> ServedOver {
    let facts = export.facts();
    ServedOver {
        protocol: "nfs3".to_owned(),
        server: facts.place(),
        // NFS 3 has no question for it.
        server_version: String::new(),
        initiator: "Tilemark's NFS 3 client".to_owned(),
        initiator_version: env!("CARGO_PKG_VERSION").to_owned(),
        hop: MountedExport::HOP.to_owned(),
        network: facts.network(),
    }
}

fn note(id: &str, text: String) -> Warning {
    Warning { id: id.to_owned(), text, value: None, limit: None, hint: None }
}

fn refuse_others(plan: &ResolvedPlan, options: &RunOptions) -> Result<(), BenchError> {
    let others = [
        (!plan.tile_set.operations.is_empty(), "operations use them beside the load"),
        (!plan.settings.hosts.members.is_empty(), "other hosts drive them"),
        (options.through.is_some(), "a tier serves them"),
        (plan.settings.second.is_some(), "some are on a second datastore"),
        (options.export.is_some(), "the datastore is an NFS export already"),
    ];
    match others.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(BenchError::OverAlone { what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use spec::over::OverProtocol;

    #[test]
    fn words_of_plans_are_those_of_the_protocols() {
        let plans: Vec<&str> = OverProtocol::ALL.iter().map(|own| own.word()).collect();
        let protocols: Vec<&str> = over::PROTOCOLS.iter().map(|own| own.facts().word).collect();
        assert_eq!(plans, protocols);
    }
}
