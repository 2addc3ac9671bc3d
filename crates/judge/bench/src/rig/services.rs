//! Services that the user gave for the endpoints of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::client::{Address, Login, Service};

use crate::error::BenchError;
use crate::plan::{PlanError, ResolvedPlan, endpoints};

/// Connected services, keyed by the name of the endpoint.
pub type Services = BTreeMap<String, Arc<Service>>;

/// Passwords for services, and authorities for their certificates, keyed by the name of the
/// endpoint.
pub type Logins = BTreeMap<String, Login>;

/// Maximum time for a service to accept a test connection. Our choice: two retransmissions of a
/// lost first packet (RFC 6298: 1 s, then 2 s) and time to answer.
const REACH_MAX: Duration = Duration::from_secs(5);

/// Resolves the names in a plan's addresses, and checks that a service accepts a connection at
/// each.
///
/// # Errors
///
/// An address is malformed, no service listens there or proves its name, or a password or an
/// authority belongs to no address.
pub fn reach(plan: &ResolvedPlan, logins: &Logins) -> Result<Services, BenchError> {
    let addresses = endpoints::addresses(&plan.settings.endpoints, &plan.tile_set)?;
    for (name, login) in logins {
        let can = |has: fn(&Address) -> bool| addresses.get(name).is_some_and(has);
        if login.password.is_some() && !can(Address::has_logins) {
            return Err(PlanError::NoLogin { name: name.clone() }.into());
        }
        if login.trust.is_some() && !can(Address::has_tls) {
            return Err(PlanError::NoTls { name: name.clone() }.into());
        }
    }
    let reached = addresses.into_iter().map(|(name, address)| {
        let login = logins.get(name).cloned().unwrap_or_default();
        Ok((name.clone(), Arc::new(Service::reach(address, login, REACH_MAX)?)))
    });
    reached.collect()
}
