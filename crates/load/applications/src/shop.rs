//! Database of a shop, in the shape of DVD Store 3.5: customers, products, a year of orders.
//!
//! Calls (`data/tiles/workloads/shop-real.toml`): `login`, `register`, three searches, `place` and
//! `place_new`. A numbered argument is folded into the range of customers or products, so the same
//! workload serves data of any size.

use process_home::Phase;
use units::Bytes;

use crate::error::ApplicationError;
use crate::memory::MemoryGroup;
use crate::postgres::{Cluster, Programs, SHOP_ROLE, statements};
use crate::{Application, Endpoint, Need, Running, Site};

/// Size of one customer, in bytes, with its orders, history and share of the products, indexes
/// included. Measured with 200,000 and 3 million customers.
const BYTES_PER_CUSTOMER: u64 = 820;
/// Number of customers per product. DVD Store's sizes have 20,000 customers, 1,000 products and
/// 1,000 orders a month, so 20 customers place 12 orders a year.
const CUSTOMERS_PER_PRODUCT: u64 = 20;
const CUSTOMERS_MIN: u64 = 2_000;
/// Maximum number of customers. The ids of customers, and of their orders, are four-byte integers.
const CUSTOMERS_MAX: u64 = 1_000_000_000;

const SCRIPT: &str = include_str!("shop.sql");

/// Creates the data of a shop.
pub(crate) fn make(need: &Need, site: &Site) -> Result<(), ApplicationError> {
    let statements = statements(SCRIPT, words(need.size), need.seed);
    cluster(need, site)?.make(&site.empty_cluster, &statements)
}

fn cluster<'a>(need: &'a Need, site: &'a Site) -> Result<Cluster<'a>, ApplicationError> {
    Ok(Cluster {
        name: &need.name,
        account: &site.account,
        stop: &site.stop,
        directory: site.directory.join(&need.name),
        sessions: need.sessions,
        programs: Programs::find()?,
    })
}

/// Starts the server of a shop whose data exists.
pub(crate) fn start(need: &Need, site: &Site) -> Result<Application, ApplicationError> {
    let cluster = cluster(need, site)?;
    let memory = cluster.memory(need.size, Bytes::ZERO);
    let group = MemoryGroup::make(&site.group(need), memory)?;
    let running = cluster.start(&group.entries());
    let running = group.explain(&need.name, Phase::Start, running)?;
    let endpoint = Endpoint {
        protocol: "postgres",
        address: format!("postgres://{SHOP_ROLE}@localhost/tile"),
        socket: Some(cluster.socket()?),
        password: None,
    };
    Ok(Application {
        endpoints: vec![endpoint],
        server: cluster.programs.version.clone(),
        memory,
        data: need.size,
        running: Running::Shop(running),
        group,
    })
}

/// Returns the placeholders of the statements, with their values for data of `size`.
fn words(size: Bytes) -> [(&'static str, u64); 3] {
    let customers = (size.get() / BYTES_PER_CUSTOMER).clamp(CUSTOMERS_MIN, CUSTOMERS_MAX);
    let products = customers / CUSTOMERS_PER_PRODUCT;
    [("CUSTOMERS", customers), ("PRODUCTS", products), ("ORDERS", products * 12)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_bytes() {
        let all = statements(SCRIPT, words(Bytes::new(164_000_000)), 1 << 63).join("\n");
        assert!(all.contains("generate_series(1, 200000) n"), "{all}");
        assert!(all.contains("generate_series(1, 10000) n") && all.contains("setseed(0.5000"));
        assert!(all.contains("generate_series(1, 120000) o"));
        assert!(!all.contains("CUSTOMERS") && !all.contains("PRODUCTS") && !all.contains("--"));
        assert_eq!(words(Bytes::new(1))[0], ("CUSTOMERS", 2_000));
    }
}
