use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::StartError;

/// Who a server is, and whose clients it lets in: those with a certificate of one authority. TLS 1.2
/// and 1.3, by rustls.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Takes the authority's certificates, and the server's own with their key, as PEM.
    ///
    /// # Errors
    /// When they cannot be read, or do not fit each other.
    pub fn new(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, StartError> {
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for one in CertificateDer::pem_slice_iter(authority) {
            roots.add(one.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
        }
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&crypto));
        let verifier = verifier.build().map_err(|error| wrong(&error))?;
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| wrong(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong(&error))?;
        let config = ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        Ok(Self { config: Arc::new(config) })
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// A key is in it.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

fn wrong(error: &dyn fmt::Display) -> StartError {
    StartError::Tls(error.to_string())
}
