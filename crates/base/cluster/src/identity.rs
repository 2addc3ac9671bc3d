use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::error::ClusterError;
use crate::name::Name;

/// Prefix of every invitation, with the version of its format, so that people and programs
/// recognise an invitation.
const PREFIX: &str = "tilemark-join-1.";
/// Maximum difference between two hosts' clocks. Our choice: hosts without a time service differ by
/// minutes.
const SKEW: Duration = Duration::from_secs(3600);

/// Certificate authority of one cluster. Its key stays in this process.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    from: OffsetDateTime,
    until: OffsetDateTime,
    /// Secret from which passwords are derived.
    secret: [u8; 32],
}

/// Certificate and key, as PEM.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(cluster: &Name, valid_for: Duration) -> Result<Self, ClusterError> {
        let now = OffsetDateTime::now_utc();
        let (from, until) = (now - SKEW, now + valid_for);
        let mut params = params(&format!("tilemark cluster {cluster}"), (from, until));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        let secret = Sha256::digest(key.serialize_der()).into();
        Ok(Self { issuer: Issuer::new(params, key), certificate, from, until, secret })
    }

    /// Returns the password of a member, which cannot be computed without the authority's secret.
    pub fn password(&self, member: &Name) -> String {
        let digest = Sha256::new().chain_update(self.secret).chain_update(member.as_str());
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Issues a certificate for a listener at these addresses.
    pub fn server(&self, addresses: &[String]) -> Result<Credentials, ClusterError> {
        let mut params = CertificateParams::new(addresses.to_vec())?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.signed(params, "hub")
    }

    /// Issues a certificate for a member, with the member's name. It is not valid for a listener.
    fn client(&self, member: &Name) -> Result<Credentials, ClusterError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.signed(params, member.as_str())
    }

    fn signed(
        &self,
        mut params: CertificateParams,
        name: &str,
    ) -> Result<Credentials, ClusterError> {
        let named = self::params(name, (self.from, self.until));
        params.distinguished_name = named.distinguished_name;
        (params.not_before, params.not_after) = (named.not_before, named.not_after);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Credentials { certificate, key: key.serialize_pem() })
    }

    /// Creates an invitation for a member to a hub at these addresses, with ports.
    pub fn invitation(
        &self,
        cluster: &Name,
        member: &Name,
        hub: &[String],
    ) -> Result<Invitation, ClusterError> {
        Ok(Invitation {
            cluster: cluster.clone(),
            member: member.clone(),
            hub: hub.to_vec(),
            until_unix_s: self.until.unix_timestamp(),
            authority: self.certificate.clone(),
            password: self.password(member),
            own: self.client(member)?,
        })
    }
}

fn params(name: &str, (from, until): (OffsetDateTime, OffsetDateTime)) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    (params.not_before, params.not_after) = (from, until);
    params
}

/// Invitation to a cluster: the hub's addresses, the trusted authority, and the member's key.
/// Everybody who has it can join under the member's name until it expires, so it is secret in any
/// form.
#[derive(Clone, Serialize, Deserialize)]
pub struct Invitation {
    pub(crate) cluster: Name,
    pub(crate) member: Name,
    pub(crate) hub: Vec<String>,
    until_unix_s: i64,
    pub(crate) authority: String,
    pub(crate) password: String,
    pub(crate) own: Credentials,
}

impl Invitation {
    /// Returns the invited member.
    pub const fn member(&self) -> &Name {
        &self.member
    }

    /// Returns the addresses of the hub, with ports.
    pub fn hub(&self) -> &[String] {
        &self.hub
    }

    /// Encodes the invitation as a token: one word of letters, digits, `-`, `_` and `.`, about 2
    /// KiB. The token is secret.
    pub fn token(&self) -> String {
        let json = serde_json::to_vec(self).expect("strings and a number can be JSON");
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }

    /// Checks that the invitation has not expired.
    pub(crate) fn is_valid(&self) -> Result<(), ClusterError> {
        match OffsetDateTime::now_utc().unix_timestamp() > self.until_unix_s {
            true => Err(ClusterError::Expired { member: self.member.clone() }),
            false => Ok(()),
        }
    }
}

impl FromStr for Invitation {
    type Err = ClusterError;

    /// Parses a token; surrounding spaces are ignored. Errors do not reveal the token's content.
    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let invalid = |why: &str| ClusterError::Invitation(why.to_owned());
        let text = text.trim();
        let body = text.strip_prefix(PREFIX).ok_or_else(|| {
            invalid(match text.starts_with("tilemark-join-") {
                true => "it is for another version of tilemark",
                false => "it does not begin with `tilemark-join-1.`",
            })
        })?;
        let json = URL_SAFE_NO_PAD.decode(body).map_err(|_| invalid("it is cut off or changed"))?;
        serde_json::from_slice(&json).map_err(|_| invalid("it is cut off or changed"))
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, member, hub, .. } = self;
        let mut shown = f.debug_struct("Invitation");
        shown.field("cluster", cluster).field("member", member).field("hub", hub);
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invitation(valid_for: Duration) -> Invitation {
        let name = |text: &str| text.parse::<Name>().expect("a name");
        let authority = Authority::new(&name("c1"), valid_for).expect("an authority");
        let hub = ["10.0.0.1:7656".to_owned()];
        authority.invitation(&name("c1"), &name("a"), &hub).expect("an invitation")
    }

    #[test]
    fn an_invitation_is_one_word_that_reads_back_and_shows_no_key() {
        let invitation = invitation(Duration::from_secs(60));
        let token = invitation.token();
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
        let read: Invitation = format!(" {token}\n").parse().expect("reads back");
        assert_eq!((read.member.as_str(), &read.hub[..]), ("a", &invitation.hub[..]));
        assert_eq!(read.own.key, invitation.own.key);
        assert!(!format!("{read:?}").contains("PRIVATE"), "{read:?}");
        read.is_valid().expect("for a minute");
    }

    #[test]
    fn what_is_no_invitation_is_refused_without_repeating_it() {
        let token = invitation(Duration::from_secs(60)).token();
        let changed = token.replacen("eyJ", "eyK", 1);
        for bad in ["", "secret", "tilemark-join-2.abc", &token[..300], &changed] {
            let error = bad.parse::<Invitation>().expect_err(bad).to_string();
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
    }

    #[test]
    fn an_invitation_expires() {
        let mut old = invitation(Duration::from_secs(60));
        old.until_unix_s -= 61;
        let error = old.is_valid().expect_err("it is over");
        assert_eq!(error.to_string(), "the invitation of a has expired");
    }
}
