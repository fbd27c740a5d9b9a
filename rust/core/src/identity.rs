//! Names of things: endpoints, instances, `WorkerSet`s, checksums, and which namespaces a controller looks at.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// What a worker does in its model: the effective role of its card (WIRE section 4).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum WorkerType {
    /// Prefill and decode in one worker. Also the effective role of a legacy card without the Prefill flag.
    Aggregated,
    /// Decode only; needs a prefill hop.
    Decode,
    /// Encodes images, audio or video for a consumer.
    Encode,
    /// Prefill only; never serves a request alone.
    Prefill,
}

impl WorkerType {
    /// The wire name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aggregated => "aggregated",
            Self::Decode => "decode",
            Self::Encode => "encode",
            Self::Prefill => "prefill",
        }
    }
}

impl fmt::Display for WorkerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The compatibility identity of a card: BLAKE3-256 as WIRE section 2 defines it. Written as 64 lower-case hex digits.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MdcChecksum(pub [u8; 32]);

impl fmt::Display for MdcChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for MdcChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MdcChecksum({self})")
    }
}

/// A served endpoint: where instances of one component register.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EndpointId {
    /// Namespace, never empty.
    pub namespace: String,
    /// Component, never empty.
    pub component: String,
    /// Endpoint, never empty.
    pub endpoint: String,
}

impl EndpointId {
    /// The instance key of one of this endpoint's instances: `ns/component/endpoint/<id in lower hex>`.
    pub fn instance_key(&self, id: u64) -> String {
        format!("{self}/{id:x}")
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.component, self.endpoint)
    }
}

/// An instance id in the byte order of its instance key, which is not the numeric order: `10` sorts before `2`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct KeyOrdered(pub u64);

impl KeyOrdered {
    /// The hex digits moved to the left end, then how many there are: shorter keys sort before their extensions.
    fn rank(self) -> (u64, u32) {
        let digits = (64 - self.0.leading_zeros()).div_ceil(4).max(1);
        (self.0 << (4 * (16 - digits)), digits)
    }
}

impl Ord for KeyOrdered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for KeyOrdered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Identity of a `WorkerSet` (clause I1). Sets that differ in any part share nothing.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WorkerSetKey {
    /// Display name of the model.
    pub model: String,
    /// Where its instances register.
    pub endpoint: EndpointId,
    /// Lower-case names of the model types in bit order, joined with `|`; may be empty.
    pub model_types: String,
    /// Effective role.
    pub worker_type: WorkerType,
}

impl WorkerSetKey {
    /// Dynamo's key: a compact JSON array of namespace, component, endpoint, model types, role (WIRE section 5).
    pub fn key_text(&self) -> String {
        json_array(&[
            &self.endpoint.namespace,
            &self.endpoint.component,
            &self.endpoint.endpoint,
            &self.model_types,
            self.worker_type.as_str(),
        ])
    }
}

/// The group id as logs show it: a JSON array of the model and [`WorkerSetKey::key_text`].
impl fmt::Display for WorkerSetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&json_array(&[&self.model, &self.key_text()]))
    }
}

impl Serialize for WorkerSetKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn json_array(parts: &[&str]) -> String {
    serde_json::Value::from(parts.to_vec()).to_string()
}

/// Which namespaces a controller looks at (WIRE section 5). Records of others are ignored.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum NamespaceFilter {
    /// Every namespace.
    #[default]
    All,
    /// One namespace.
    Exact(String),
    /// Namespaces that start with the text; strict: equal to it, or it and `-` and exactly 8 of `0-9a-f`.
    Prefix {
        /// The prefix.
        prefix: String,
        /// Take only the plain name and its worker-generation names.
        strict: bool,
    },
}

impl NamespaceFilter {
    /// Whether records of the namespace are looked at.
    pub fn admits(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => namespace == exact,
            Self::Prefix { prefix, strict } => namespace.strip_prefix(prefix.as_str()).is_some_and(|rest| {
                !strict
                    || rest.is_empty()
                    || rest.strip_prefix('-').is_some_and(|hash| {
                        hash.len() == 8 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                    })
            }),
        }
    }
}

/// A shared [`WorkerSetKey`]: one allocation a set, cloned into every notice.
pub type SharedKey = Arc<WorkerSetKey>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_is_the_byte_order_of_hex_texts() {
        let ids = [0, 1, 2, 0xf, 0x10, 0x1f, 0x20, 0x100, 0xff, u64::MAX, u64::MAX >> 4, 1 << 63];
        for a in ids {
            for b in ids {
                assert_eq!(KeyOrdered(a).cmp(&KeyOrdered(b)), format!("{a:x}").cmp(&format!("{b:x}")), "{a:x} {b:x}");
            }
        }
    }

    #[test]
    fn group_id_and_key_text_are_nested_json_arrays() {
        let key = WorkerSetKey {
            model: "m\"é".into(),
            endpoint: EndpointId { namespace: "ns2".into(), component: "backend".into(), endpoint: "generate".into() },
            model_types: "chat|prefill".into(),
            worker_type: WorkerType::Prefill,
        };
        assert_eq!(key.key_text(), r#"["ns2","backend","generate","chat|prefill","prefill"]"#);
        assert_eq!(key.to_string(), r#"["m\"é","[\"ns2\",\"backend\",\"generate\",\"chat|prefill\",\"prefill\"]"]"#);
    }

    #[test]
    fn strict_prefix_takes_the_name_and_its_generations_only() {
        let strict = NamespaceFilter::Prefix { prefix: "default".into(), strict: true };
        let loose = NamespaceFilter::Prefix { prefix: "default".into(), strict: false };
        for (namespace, in_strict, in_loose) in [
            ("default", true, true),
            ("default-0123abcd", true, true),
            ("default-0123ABCD", false, true),
            ("default-foo", false, true),
            ("defaultfoo", false, true),
            ("default-0123abcd0", false, true),
            ("other", false, false),
        ] {
            assert_eq!(strict.admits(namespace), in_strict, "{namespace}");
            assert_eq!(loose.admits(namespace), in_loose, "{namespace}");
        }
        assert!(NamespaceFilter::Exact("a".into()).admits("a") && !NamespaceFilter::Exact("a".into()).admits("ab"));
    }
}
