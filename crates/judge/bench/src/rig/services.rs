//! Services that the user gave for the endpoints of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::client::{Address, Login, Service};
use http_client::Secret;

use crate::error::BenchError;
use crate::plan::{PlanError, ResolvedPlan, endpoints};

/// Connected services, keyed by the name of the endpoint.
pub type Services = BTreeMap<String, Arc<Service>>;

/// Passwords for services, keyed by the name of the endpoint.
pub type Passwords = BTreeMap<String, Arc<Secret>>;

/// Maximum time for a service to accept a test connection. Our choice: two retransmissions of a
/// lost first packet (RFC 6298: 1 s, then 2 s) and time to answer.
const REACH_MAX: Duration = Duration::from_secs(5);

/// Resolves the names in a plan's addresses, and checks that a service accepts a connection at
/// each.
///
/// # Errors
///
/// An address is malformed, no service listens there, or a password belongs to no address.
pub fn reach(plan: &ResolvedPlan, passwords: &Passwords) -> Result<Services, BenchError> {
    let addresses = endpoints::addresses(&plan.settings.endpoints, &plan.tile_set)?;
    let takes = |name: &String| addresses.get(name).is_some_and(Address::has_logins);
    if let Some(name) = passwords.keys().find(|name| !takes(name)) {
        return Err(PlanError::NoLogin { name: name.clone() }.into());
    }
    let reached = addresses.into_iter().map(|(name, address)| {
        let login = Login { password: passwords.get(name).cloned() };
        let service = Service::reach(address, REACH_MAX)?.with_login(login);
        Ok((name.clone(), Arc::new(service)))
    });
    reached.collect()
}
