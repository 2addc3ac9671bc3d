use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig};

use crate::StartError;

/// Certificate of a server, and the certificate authority whose clients it accepts. TLS 1.2 and
/// 1.3, by rustls.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Parses the authority's certificates, and the server's own certificates with their key, as
    /// PEM.
    ///
    /// # Errors
    /// If they cannot be parsed, or do not match each other.
    pub fn new(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, StartError> {
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots(authority)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&crypto));
        let verifier = verifier.build().map_err(|error| wrong(&error))?;
        let (chain, key) = identity(certificate, key)?;
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

/// Certificate of a client, and the certificate authority whose servers it trusts. TLS 1.2 and 1.3,
/// by rustls.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Parses the authority's certificates, and the client's own certificates with their key, as
    /// PEM.
    ///
    /// # Errors
    /// If they cannot be parsed, or do not match each other.
    pub fn new(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, StartError> {
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let (chain, key) = identity(certificate, key)?;
        let config = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_root_certificates(roots(authority)?)
            .with_client_auth_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        Ok(Self { config: Arc::new(config) })
    }

    /// Creates a session with the server of this name or IP address.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn session(&self, server: &str) -> Result<ClientConnection, StartError> {
        let name = ServerName::try_from(server.to_owned()).map_err(|error| wrong(&error))?;
        ClientConnection::new(Arc::clone(&self.config), name).map_err(|error| wrong(&error))
    }
}

fn roots(authority: &[u8]) -> Result<RootCertStore, StartError> {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(authority) {
        roots.add(one.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
    }
    Ok(roots)
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(certificate: &[u8], key: &[u8]) -> Result<Identity, StartError> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong(&error))?;
    Ok((chain.map_err(|error| wrong(&error))?, key))
}

/// Shows no fields, because one of them is a private key.
impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").finish_non_exhaustive()
    }
}

/// Shows no fields, because one of them is a private key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

fn wrong(error: &dyn fmt::Display) -> StartError {
    StartError::Tls(error.to_string())
}
