//! TLS to services. Most certificates of management controllers and hypervisors are self-signed. So
//! there are four kinds of trust: in the SHA-256 of one certificate, in a private authority, in the
//! authorities of this system, or in any certificate, which the result records.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};
use sha2::{Digest, Sha256};

use crate::RemoteError;

/// File of the certificate authorities that a Debian system trusts. On other systems
/// `SSL_CERT_FILE` names the file.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Trust in a server's certificate.
#[derive(Debug)]
pub struct Trust {
    config: Arc<ClientConfig>,
}

#[derive(Debug)]
struct Known {
    /// Required SHA-256 of the certificate. An empty text accepts no certificate; `None` accepts
    /// any.
    digest: Option<String>,
    crypto: Arc<CryptoProvider>,
}

impl Trust {
    /// Creates trust in the certificate with this SHA-256 in hexadecimal, with or without colons.
    /// An empty text accepts no certificate, and the error shows the actual SHA-256. `None` accepts
    /// any certificate.
    ///
    /// # Errors
    /// If TLS is unavailable.
    pub fn of(fingerprint: Option<&str>) -> Result<Self, RemoteError> {
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let digest = fingerprint.map(|text| text.replace(':', "").to_ascii_lowercase());
        let known = Arc::new(Known { digest, crypto: Arc::clone(&crypto) });
        Self::by(known, crypto)
    }

    /// Creates trust in certificates for the requested name that one of these authorities (PEM)
    /// signed.
    ///
    /// # Errors
    /// If the text contains no authority.
    pub fn authority(pem: &[u8]) -> Result<Self, RemoteError> {
        let wrong = |error: &dyn std::fmt::Display| {
            RemoteError::Trust(format!(
                "the certificates of certificate authorities cannot be used: {error}"
            ))
        };
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let added = certificate.map_err(|error| wrong(&error));
            roots.add(added?).map_err(|error| wrong(&error))?;
        }
        if roots.is_empty() {
            return Err(wrong(&"there is no certificate in the file"));
        }
        let (roots, own) = (Arc::new(roots), Arc::clone(&crypto));
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, own).build();
        Self::by(verifier.map_err(|error| wrong(&error))?, crypto)
    }

    /// Creates trust in certificates for the requested name that an authority of this system signed.
    ///
    /// # Errors
    /// If the system's file of authorities cannot be read, or contains none.
    pub fn system() -> Result<Self, RemoteError> {
        let file = std::env::var_os("SSL_CERT_FILE").unwrap_or_else(|| AUTHORITIES.into());
        Self::authority_file(Path::new(&file))
    }

    /// Creates trust as [`Self::authority`], from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or contains no authority.
    pub fn authority_file(file: &Path) -> Result<Self, RemoteError> {
        let pem = untrusted::read_named_text(file)
            .map_err(|error| RemoteError::Trust(format!("reading {}: {error}", file.display())))?;
        Self::authority(pem.as_bytes())
    }

    fn by(
        verifier: Arc<dyn ServerCertVerifier>,
        crypto: Arc<CryptoProvider>,
    ) -> Result<Self, RemoteError> {
        let config = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|error| RemoteError::Trust(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config) })
    }

    /// Creates the client side of a TLS connection to a host, a name or an IP address.
    ///
    /// # Errors
    /// If no certificate can be for such a host, or TLS is unavailable.
    pub fn connection(&self, host: &str) -> Result<ClientConnection, RemoteError> {
        let wrong = |error: &dyn std::fmt::Display| RemoteError::Trust(error.to_string());
        let name = ServerName::try_from(host.to_owned()).map_err(|error| wrong(&error))?;
        ClientConnection::new(Arc::clone(&self.config), name).map_err(|error| wrong(&error))
    }

    /// Runs an exchange over a TLS connection.
    pub(crate) fn exchange<T>(
        &self,
        host: &str,
        stream: TcpStream,
        talk: impl FnOnce(StreamOwned<ClientConnection, TcpStream>, &TcpStream) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        let connection = self.connection(host).map_err(std::io::Error::other)?;
        let socket = stream.try_clone()?;
        talk(StreamOwned::new(connection, stream), &socket)
    }
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found: String =
            Sha256::digest(end_entity.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect();
        match &self.digest {
            Some(known) if known.is_empty() => Err(rustls::Error::General(format!(
                "no authority vouches for its certificate: if this is its SHA-256, give \
                 fingerprint={found}; insecure=true accepts any certificate"
            ))),
            Some(known) if *known != found => Err(rustls::Error::General(format!(
                "it shows another certificate: SHA-256 {found}, but expected is {known}"
            ))),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.crypto.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.crypto.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}
