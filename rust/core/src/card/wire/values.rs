//! Plain values, options, lists, sets and maps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::{Context, Decode, Encode, Seed, Step, Written};
use crate::config::Profile;

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl<'de> Decode<'de> for $type {
            fn decode<D: Deserializer<'de>>(deserializer: D, _: &Context<'_>) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(deserializer)
            }
        }

        impl Encode for $type {
            fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }
        }
    )*};
}
plain!(bool, u8, u16, u32, u64, i64, f64, String, Value);

impl<'de, T: Decode<'de>> Decode<'de> for Option<T> {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        struct Nullable<'c, 'p, T>(Seed<'c, 'p, T>);

        impl<'de, T: Decode<'de>> Visitor<'de> for Nullable<'_, '_, T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("option")
            }

            fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                self.0.deserialize(deserializer).map(Some)
            }
        }

        deserializer.deserialize_option(Nullable(Seed::new(cx)))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Written(value, profile)),
            None => serializer.serialize_none(),
        }
    }
}

impl<'de, T: Decode<'de>> Decode<'de> for Vec<T> {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        struct List<'c, 'p, T>(&'c Context<'p>, PhantomData<T>);

        impl<'de, T: Decode<'de>> Visitor<'de> for List<'_, '_, T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                loop {
                    let next = seq.next_element_seed(Seed::new(self.0));
                    match self.0.below(|| Step::Index(list.len()), next)? {
                        Some(item) => list.push(item),
                        None => return Ok(list),
                    }
                }
            }
        }

        deserializer.deserialize_seq(List(cx, PhantomData))
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        encode_list(self, serializer, profile)
    }
}

fn encode_list<'a, T: Encode + 'a, S: Serializer>(
    items: impl IntoIterator<Item = &'a T>,
    serializer: S,
    profile: Profile,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    for item in items {
        list.serialize_element(&Written(item, profile))?;
    }
    list.end()
}

impl<'de, T: Decode<'de> + Ord> Decode<'de> for BTreeSet<T> {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        Ok(Vec::decode(deserializer, cx)?.into_iter().collect())
    }
}

impl<T: Encode> Encode for BTreeSet<T> {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        encode_list(self, serializer, profile)
    }
}

/// Of a repeated key the last value counts: these maps have no known keys.
impl<'de, T: Decode<'de>> Decode<'de> for BTreeMap<String, T> {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        struct Map<'c, 'p, T>(&'c Context<'p>, PhantomData<T>);

        impl<'de, T: Decode<'de>> Visitor<'de> for Map<'_, '_, T> {
            type Value = BTreeMap<String, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map.next_value_seed(Seed::new(self.0));
                    let value = self.0.below(|| Step::Key(key.clone()), value)?;
                    entries.insert(key, value);
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(Map(cx, PhantomData))
    }
}

impl<T: Encode> Encode for BTreeMap<String, T> {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self {
            map.serialize_entry(key, &Written(value, profile))?;
        }
        map.end()
    }
}
