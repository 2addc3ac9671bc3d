use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::ClusterError;
use crate::identity::Credentials;
use crate::private::Private;

/// Connection between hosts: TLS with a certificate on both sides, connected to Zenoh's sockets in
/// a directory that only this user can enter.
///
/// Zenoh's own TLS is not used, for two reasons. It reads and writes one rustls stream from two
/// threads at once (zenoh#2557), which on a busy computer ended one connection of fifty with
/// "handshake not complete". And it waits a tenth of a second after every failed handshake.
pub(crate) struct Tunnel {
    /// Runtime of all connections. Dropping it ends every connection.
    runtime: Option<Runtime>,
    directory: Private,
    /// True once the connections were cut.
    cut: watch::Sender<bool>,
}

/// Maximum number of simultaneous handshakes; other clients wait in the kernel.
const HANDSHAKES_MAX: usize = 512;
/// Time limit of a handshake, for clients that send nothing.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// Pause before a listener that failed (out of files) or a hub is tried again.
const AGAIN: Duration = Duration::from_millis(100);

impl Tunnel {
    /// Starts the tunnel's runtime and creates its private directory.
    fn new() -> Result<Self, ClusterError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // One thread is enough, because it only copies.
            .worker_threads(1)
            .thread_name("tunnel")
            .enable_all()
            .build();
        let runtime = Some(runtime.map_err(failed("starting a thread"))?);
        let directory = Private::make().map_err(failed("making a private directory"))?;
        Ok(Self { runtime, directory, cut: watch::Sender::new(false) })
    }

    /// Cuts all connections without notice, as at a power loss.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime is present until the tunnel is dropped")
    }

    /// Returns the directory of the sockets.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of the socket on which Zenoh listens, or to which it connects.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("z")
    }

    /// Listens for clients with a certificate of the authority.
    pub fn listen(
        listeners: Vec<TcpListener>,
        authority: &str,
        own: &Credentials,
    ) -> Result<Self, ClusterError> {
        let tunnel = Self::new()?;
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots(authority)?));
        let verifier = verifier.build().map_err(|error| wrong(&error))?;
        let (chain, key) = pair(own)?;
        let config = ServerConfig::builder()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let places = Arc::new(Semaphore::new(HANDSHAKES_MAX));
        for listener in listeners {
            listener.set_nonblocking(true).map_err(failed("listening"))?;
            let _entered = tunnel.runtime().enter();
            let listener =
                tokio::net::TcpListener::from_std(listener).map_err(failed("listening"))?;
            let (acceptor, places) = (acceptor.clone(), Arc::clone(&places));
            tunnel.runtime().spawn(let_in(listener, acceptor, places, tunnel.socket()));
        }
        Ok(tunnel)
    }

    /// Connects to a hub at one of these addresses. Only the first connection to the socket is
    /// forwarded.
    pub fn connect(
        hub: &[String],
        authority: &str,
        own: &Credentials,
        within: Duration,
    ) -> Result<Self, ClusterError> {
        let tunnel = Self::new()?;
        let (chain, key) = pair(own)?;
        let config = ClientConfig::builder()
            .with_root_certificates(roots(authority)?)
            .with_client_auth_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        let connector = TlsConnector::from(Arc::new(config));
        let reach = reach(hub, &connector);
        let reached =
            tunnel.runtime().block_on(async { tokio::time::timeout(within, reach).await });
        let mut far = reached.map_err(|_| silent(hub))??;
        let _entered = tunnel.runtime().enter();
        let near = UnixListener::bind(tunnel.socket()).map_err(failed("making a socket"))?;
        let mut cut = tunnel.cut.subscribe();
        tunnel.runtime().spawn(async move {
            if let Ok((mut near, _)) = near.accept().await {
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    // Both ends stay open, without further data.
                    () = async { drop(cut.wait_for(|cut| *cut).await) } => {
                        std::future::pending::<()>().await;
                    }
                }
            }
        });
        Ok(tunnel)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn let_in(
    listener: tokio::net::TcpListener,
    acceptor: TlsAcceptor,
    places: Arc<Semaphore>,
    socket: PathBuf,
) {
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((far, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let (acceptor, socket) = (acceptor.clone(), socket.clone());
        tokio::spawn(async move {
            let _ = far.set_nodelay(true);
            // A refused client learns the reason from TLS.
            let shaken = tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(far)).await;
            drop(place);
            let Ok(Ok(mut far)) = shaken else { return };
            if let Ok(mut near) = UnixStream::connect(socket).await {
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        });
    }
}

type Far = tokio_rustls::client::TlsStream<TcpStream>;

/// Tries the addresses in turn until a hub answers. If a hub is not trusted, returns an error at
/// once.
async fn reach(hub: &[String], connector: &TlsConnector) -> Result<Far, ClusterError> {
    loop {
        for address in hub {
            let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
            let host = host.trim_matches(['[', ']']).to_owned();
            let name = ServerName::try_from(host).map_err(|_| silent(hub))?;
            let Ok(far) = TcpStream::connect(address).await else { continue };
            let _ = far.set_nodelay(true);
            let shaken = tokio::time::timeout(HANDSHAKE_MAX, connector.connect(name, far)).await;
            match shaken {
                Ok(Ok(far)) => return Ok(far),
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(failed("joining")(error));
                }
                _ => {}
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn roots(authority: &str) -> Result<RootCertStore, ClusterError> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(authority.as_bytes());
    roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
    Ok(roots)
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn pair(own: &Credentials) -> Result<Pair, ClusterError> {
    let certificate = CertificateDer::from_pem_slice(own.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes());
    Ok((vec![certificate.map_err(|error| wrong(&error))?], key.map_err(|error| wrong(&error))?))
}

fn wrong(error: &dyn std::error::Error) -> ClusterError {
    ClusterError::Network { what: "certificates", message: error.to_string() }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> ClusterError {
    move |error| ClusterError::Network { what, message: error.to_string() }
}

fn silent(hub: &[String]) -> ClusterError {
    let message = format!("the hub at {} cannot prove its identity", hub.join(", "));
    ClusterError::Network { what: "joining", message }
}
