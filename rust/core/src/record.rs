//! Discovery records as stored: which place a path names, and what the bytes behind it say.
//!
//! Decoding needs no controller and no lock: a [`Decoder`] turns [`Event`]s into [`Observation`]s, and equal card bytes
//! into one shared [`BoundaryCard`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::HashMap;
use crate::card::{BoundaryCard, ModelCard};
use crate::config::AdmissionConfig;
use crate::event::{Apply, Event};
use crate::identity::EndpointId;
use crate::text::{clipped, quoted, reason};

const CARDS: &str = "v1/mdc/";
const INSTANCES: &str = "v1/instances/";

/// The mark of every value that was not looked at, whatever its reason says of it: so it is told once, and not each time
/// it has grown.
const UNSEEN: u64 = 0;

/// An [`Event`] with its records decoded: what a controller takes.
#[derive(Debug)]
pub struct Observation(pub(crate) Observed);

#[derive(Debug)]
pub(crate) enum Observed {
    Apply(Seen),
    Delete {
        path: String,
        revision: u64,
    },
    Reset {
        entries: Vec<Seen>,
        as_of: u64,
        prefix: String,
    },
    /// A foreign bucket or a namespace outside the filter.
    Ignored,
}

/// A key, and what was found behind it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) revision: u64,
    pub(crate) created: Option<i64>,
    pub(crate) incarnation: Option<String>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Still what was applied last.
    Unchanged,
    /// Not usable (clause R7), and a mark of the value to tell one refused value from another.
    Refused {
        reason: String,
        value: u64,
    },
    Card {
        place: Place,
        card: Arc<BoundaryCard>,
        value: u64,
    },
    Endpoint {
        place: Place,
        record: EndpointRecord,
    },
}

/// What a path names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) endpoint: EndpointId,
    pub(crate) id: u64,
    pub(crate) suffix: Option<String>,
}

/// What an endpoint record says besides its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct EndpointRecord {
    /// The kind of the transport, such as `tcp`.
    pub(crate) kind: TransportKind,
    /// How to reach the instance: compact JSON.
    pub(crate) transport: Arc<str>,
    /// Tells one stored value from another.
    pub(crate) value: u64,
}

/// A kind of transport. Those that Dynamo dials cost no allocation a worker.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum TransportKind {
    Tcp,
    NatsTcp,
    Other(Box<str>),
}

impl From<&str> for TransportKind {
    fn from(kind: &str) -> Self {
        match kind {
            "tcp" => Self::Tcp,
            "nats_tcp" => Self::NatsTcp,
            other => Self::Other(other.into()),
        }
    }
}

impl TransportKind {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Tcp => "tcp",
            Self::NatsTcp => "nats_tcp",
            Self::Other(kind) => kind,
        }
    }
}

/// The key that logs show for a path: the instance key of a card record, the full path of any other.
pub(crate) fn shown_key(path: &str) -> &str {
    path.strip_prefix(CARDS).unwrap_or(path)
}

/// Decodes records for one controller. Shared between threads; holds each distinct card once while somebody uses it.
pub struct Decoder {
    config: Arc<AdmissionConfig>,
    hasher: foldhash::fast::RandomState,
    cards: Mutex<CardCache>,
}

impl Decoder {
    pub(crate) fn new(config: Arc<AdmissionConfig>) -> Self {
        Self { config, hasher: foldhash::fast::RandomState::default(), cards: Mutex::default() }
    }

    /// Look at an event's records. Cost: one pass over the bytes; a card is decoded only when its bytes are new.
    pub fn decode(&self, event: Event) -> Observation {
        Observation(match event {
            Event::Apply(apply) => self.look_at(apply).map_or(Observed::Ignored, Observed::Apply),
            Event::Delete { path, revision } if self.is_ours(&path) => Observed::Delete { path, revision },
            Event::Delete { .. } => Observed::Ignored,
            Event::Reset(reset) => Observed::Reset {
                entries: reset.entries.into_iter().filter_map(|entry| self.look_at(entry)).collect(),
                as_of: reset.as_of,
                prefix: reset.prefix,
            },
        })
    }

    fn is_ours(&self, path: &str) -> bool {
        path.strip_prefix(CARDS)
            .or_else(|| path.strip_prefix(INSTANCES))
            .is_some_and(|key| self.config.namespaces.admits(key.split('/').next().unwrap_or_default()))
    }

    fn look_at(&self, apply: Apply) -> Option<Seen> {
        if !self.is_ours(&apply.path) {
            return None;
        }
        let limit = self.config.max_record_bytes;
        let content = match (&apply.refused, &apply.value) {
            (Some(refused), _) => Content::Refused { reason: reason(refused), value: UNSEEN },
            (None, None) => Content::Unchanged,
            (None, Some(bytes)) if bytes.len() > limit => {
                let reason = format!("it has {} bytes, more than the {limit} of max_record_bytes", bytes.len());
                Content::Refused { reason, value: UNSEEN }
            }
            (None, Some(bytes)) => {
                let value = self.mark(bytes);
                self.content(&apply.path, bytes, value)
                    .unwrap_or_else(|refusal| Content::Refused { reason: reason(&refusal), value })
            }
        };
        let Apply { path, revision, created, incarnation, .. } = apply;
        Some(Seen { path, revision, created, incarnation, content })
    }

    fn content(&self, path: &str, bytes: &[u8], value: u64) -> Result<Content, String> {
        if let Some(key) = path.strip_prefix(CARDS) {
            let place = Place::parse(key)?;
            let card = self.card(&place, bytes)?;
            return Ok(Content::Card { place, card, value });
        }
        let place = Place::parse(path.strip_prefix(INSTANCES).unwrap_or(path))?;
        if place.suffix.is_some() {
            return Err("an endpoint record's path has no part after the instance id".into());
        }
        let mut tree: Value = serde_json::from_slice(bytes).map_err(|error| format!("not a JSON record: {error}"))?;
        let envelope = tree.as_object_mut().ok_or("not a JSON object")?;
        check_type(envelope.get("type"), "Endpoint")?;
        place.check(|name| envelope.get(name))?;
        let transport = envelope.get("transport").ok_or("transport is missing")?;
        let kind = transport_kind(transport)?.into();
        let transport = transport.to_string().into();
        Ok(Content::Endpoint { place, record: EndpointRecord { kind, transport, value } })
    }

    fn card(&self, place: &Place, bytes: &[u8]) -> Result<Arc<BoundaryCard>, String> {
        let envelope = Envelope::scan(bytes).map_err(|error| format!("not a JSON record: {error}"))?;
        check_type(envelope.get("type"), "Model")?;
        place.check(|name| envelope.get(name))?;
        let suffix = match envelope.get("model_suffix") {
            None | Some(Value::Null) => None,
            Some(Value::String(suffix)) => Some(suffix),
            Some(other) => return Err(format!("model_suffix is {}, not a string", clipped(other))),
        };
        if suffix != place.suffix.as_ref() {
            return Err(match (suffix, &place.suffix) {
                (Some(suffix), _) => {
                    format!("the record's model_suffix {} is not the path's", quoted(suffix))
                }
                (None, _) => "the path has a model suffix, the record has none".into(),
            });
        }
        let raw = envelope.card.ok_or("card_json is missing")?;
        let is_adapter = suffix.is_some();
        let mark = self.mark(raw);
        if !envelope.card_repeats {
            let known = self.cards().get(mark, raw);
            if let Some(card) = known.filter(|card| card.card().lora().is_some() == is_adapter) {
                return Ok(card);
            }
        }
        // Decoded from the whole record's tree, as Dynamo does: limits on nesting count from the record's own brace.
        let mut tree: Value = serde_json::from_slice(bytes).map_err(|error| format!("not a JSON record: {error}"))?;
        let tree = tree.get_mut("card_json").map(Value::take).ok_or("card_json is missing")?;
        let config = &*self.config;
        let card = ModelCard::from_tree(tree, raw.into(), config.checksum_profile, &config.router_policy_files)
            .and_then(|card| BoundaryCard::new(card, config, is_adapter))
            .map_err(|error| error.to_string())?;
        Ok(self.cards().insert(mark, Arc::new(card)))
    }

    fn mark(&self, bytes: &[u8]) -> u64 {
        std::hash::BuildHasher::hash_one(&self.hasher, bytes)
    }

    /// The cache holds no invariant across a panic that a later look-up could break.
    fn cards(&self) -> std::sync::MutexGuard<'_, CardCache> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

/// Cards by the hash of their bytes. A card that nobody holds any more is forgotten at the next clean-up, which comes
/// when the cache has doubled since the last one.
#[derive(Default)]
struct CardCache {
    by_mark: HashMap<u64, Vec<Weak<BoundaryCard>>>,
    inserted: usize,
    clean_at: usize,
}

impl CardCache {
    fn get(&self, mark: u64, raw: &[u8]) -> Option<Arc<BoundaryCard>> {
        self.by_mark.get(&mark)?.iter().filter_map(Weak::upgrade).find(|card| **card.card().raw() == *raw)
    }

    /// Keep the card, or hand out the equal one that another thread was faster with.
    fn insert(&mut self, mark: u64, card: Arc<BoundaryCard>) -> Arc<BoundaryCard> {
        if let Some(known) = self.get(mark, card.card().raw()) {
            return known;
        }
        if self.inserted >= self.clean_at {
            self.by_mark.retain(|_, cards| {
                cards.retain(|card| card.strong_count() > 0);
                !cards.is_empty()
            });
            self.inserted = self.by_mark.len();
            self.clean_at = 2 * self.inserted + 64;
        }
        self.inserted += 1;
        self.by_mark.entry(mark).or_default().push(Arc::downgrade(&card));
        card
    }
}

impl Place {
    /// Parse `ns/component/endpoint/<id>[/<suffix>]`; the id is lower-case hex of a u64, without padding.
    pub(crate) fn parse(key: &str) -> Result<Self, String> {
        let parts: Vec<&str> = key.split('/').collect();
        let (namespace, component, endpoint, id, suffix) = match parts[..] {
            [namespace, component, endpoint, id] => (namespace, component, endpoint, id, None),
            [namespace, component, endpoint, id, suffix] => (namespace, component, endpoint, id, Some(suffix)),
            _ => {
                let count = parts.len();
                return Err(format!("the path has {count} parts, not namespace/component/endpoint/id[/suffix]"));
            }
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err("the path has an empty part".into());
        }
        let value = u64::from_str_radix(id, 16).ok().filter(|value| format!("{value:x}") == id);
        let id = value.ok_or_else(|| format!("{} is not a u64 in lower-case hex without padding", quoted(id)))?;
        let endpoint =
            EndpointId { namespace: namespace.into(), component: component.into(), endpoint: endpoint.into() };
        Ok(Self { endpoint, id, suffix: suffix.map(Into::into) })
    }

    /// Clause R7: a record that names another place than its path is refused.
    fn check<'a>(&self, field: impl Fn(&str) -> Option<&'a Value>) -> Result<(), String> {
        let EndpointId { namespace, component, endpoint } = &self.endpoint;
        for (name, expected) in [("namespace", namespace), ("component", component), ("endpoint", endpoint)] {
            match field(name) {
                Some(Value::String(found)) if found == expected => {}
                Some(found) => {
                    return Err(format!(
                        "the record's {name} {} is not the path's {}",
                        clipped(found),
                        quoted(expected)
                    ));
                }
                None => return Err(format!("{name} is missing")),
            }
        }
        match field("instance_id") {
            Some(found) if found.as_u64() == Some(self.id) => Ok(()),
            Some(found) if found.as_u64().is_none() => Err(format!("instance_id {} is not a u64", clipped(found))),
            Some(found) => {
                Err(format!("the record's instance_id {found} is not the path's {} ({:x})", self.id, self.id))
            }
            None => Err("instance_id is missing".into()),
        }
    }
}

/// Clause R8: one kind, with an address that is a text. Elsewhere nobody can be dialled.
fn transport_kind(transport: &Value) -> Result<&str, String> {
    let Value::Object(kinds) = transport else {
        return Err(format!("transport is {}, not an object", clipped(transport)));
    };
    let mut kinds = kinds.iter();
    match (kinds.next(), kinds.next()) {
        (Some((kind, Value::String(address))), None) if !address.is_empty() => Ok(kind),
        (Some((kind, address)), None) => {
            let kind = clipped(kind);
            Err(format!("transport {kind} is {}, not an address", clipped(address)))
        }
        (None, _) => Err("transport is {}, it names no kind and no address".into()),
        (Some(_), Some(_)) => Err(format!("transport is {}, it names more than one kind", clipped(transport))),
    }
}

fn check_type(found: Option<&Value>, expected: &str) -> Result<(), String> {
    match found {
        Some(Value::String(found)) if found == expected => Ok(()),
        Some(found) => Err(format!("type is {}, not {expected:?}", clipped(found))),
        None => Err("type is missing".into()),
    }
}

/// The top level of a card record. Like a JSON tree: of a name that stands twice the last value counts.
#[derive(Default)]
struct Envelope<'a> {
    fields: Vec<(&'static str, Value)>,
    card: Option<&'a [u8]>,
    card_repeats: bool,
}

impl<'a> Envelope<'a> {
    const NAMES: [&'static str; 6] = ["type", "namespace", "component", "endpoint", "instance_id", "model_suffix"];

    /// One pass that copies nothing of the card.
    fn scan(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let envelope = deserializer.deserialize_map(EnvelopeVisitor)?;
        deserializer.end()?;
        Ok(envelope)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == "card_json" {
                let raw: &RawValue = map.next_value()?;
                envelope.card_repeats = envelope.card.replace(raw.get().as_bytes()).is_some();
            } else if let Some(known) = Envelope::NAMES.into_iter().find(|known| *known == name) {
                envelope.fields.push((known, map.next_value()?));
            } else {
                // Read as a tree, not skipped: an unreadable number there spoils the whole record (WIRE 0).
                map.next_value::<Value>()?;
            }
        }
        Ok(envelope)
    }
}
