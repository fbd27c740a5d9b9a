//! Records: objects with known fields.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use serde::ser::{SerializeMap, Serializer};

use super::{Context, Encode, Step, Written};
use crate::config::Profile;

/// One member of a record: its name, the first release that knows it, and which slot takes it.
pub(crate) type Member<T> = (&'static str, Profile, T);

/// Reads an object key and finds its slot; `None` for a key to ignore.
pub(crate) struct KeySeed<'c, 'p, T: 'static> {
    pub(crate) cx: &'c Context<'p>,
    pub(crate) members: &'static [Member<T>],
    pub(crate) refuse_unknown: bool,
    /// Where to look first: writers keep the order of fields.
    pub(crate) hint: usize,
}

impl<'de, T: Copy> DeserializeSeed<'de> for KeySeed<'_, '_, T> {
    type Value = Option<(usize, T)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: Copy> Visitor<'_> for KeySeed<'_, '_, T> {
    type Value = Option<(usize, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        let (before, after) = self.members.split_at(self.hint);
        let numbered = (self.hint..).zip(after).chain((0..).zip(before));
        for (index, (name, since, slot)) in numbered {
            if *name == key && *since <= self.cx.profile {
                return Ok(Some((index, *slot)));
            }
        }
        if self.refuse_unknown {
            let error = E::custom(format_args!("unknown field `{key}`"));
            return self.cx.below(|| Step::Key(key.to_owned()), Err(error));
        }
        Ok(None)
    }
}

/// Takes the members of a record one by one, in wire order.
pub(crate) trait Sink {
    type Error;

    /// `written`: whether the release writes this value.
    fn member<T: Encode>(&mut self, name: &'static str, value: &T, written: bool) -> Result<(), Self::Error>;
}

/// A record that can be walked, without the members that the release does not know.
pub(crate) trait Members {
    fn members<K: Sink>(&self, profile: Profile, sink: &mut K) -> Result<(), K::Error>;
}

/// Writes the members that the release writes.
pub(crate) fn encode_members<T: Members, S: Serializer>(
    record: &T,
    serializer: S,
    profile: Profile,
) -> Result<S::Ok, S::Error> {
    struct Object<M>(M, Profile);

    impl<M: SerializeMap> Sink for Object<M> {
        type Error = M::Error;

        fn member<T: Encode>(&mut self, name: &'static str, value: &T, written: bool) -> Result<(), M::Error> {
            if written { self.0.serialize_entry(name, &Written(value, self.1)) } else { Ok(()) }
        }
    }

    let mut object = Object(serializer.serialize_map(None)?, profile);
    record.members(profile, &mut object)?;
    object.0.end()
}

/// Asks a rule of [`record!`]; a function of its own so that closures there need no types.
pub(crate) fn applies<T>(rule: impl Fn(&T, Profile) -> bool, value: &T, profile: Profile) -> bool {
    rule(value, profile)
}

/// The commonest such rule: nothing is not written.
#[allow(clippy::ref_option)] // the shape of a rule
pub(crate) fn some<T>(value: &Option<T>, _: Profile) -> bool {
    value.is_some()
}

/// A record as its own type, so that it can be read where serde hands out a visitor.
pub(crate) trait Record<'de>: Sized {
    fn visitor(cx: &Context<'_>) -> impl Visitor<'de, Value = Self>;
}

/// Declares a record: its fields in wire order, what an absent one means, since when it is known, when it is written.
///
/// * `field: Type` must be there, in objects unless the type is optional and in arrays in any case;
/// * `= value` or `by profile => value` is taken when the field is absent;
/// * `since V1_4`: older releases do not know the field;
/// * `written if |value, profile| ..`: otherwise always;
/// * `unknown refused` or `unknown ignored`: what happens to other keys;
/// * `then f` checks or completes the whole.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident, $title:literal, unknown $unknown:ident $(, then $check:path)? {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty
                $(= $default:expr)?
                $(, by $profile:ident => $computed:expr)?
                $(, since $since:ident)?
                $(, written if $written:expr)?
            );* $(;)?
        }
    ) => {
        $(#[$meta])*
        #[allow(clippy::struct_field_names)] // names on the wire
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type,)*
        }

        const _: () = {
            use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
            use $crate::card::wire::{Context, Decode, Encode, KeySeed, Member, Members, Record, Seed, Sink};
            use $crate::config::Profile;

            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy)]
            enum Slot {
                $($field,)*
            }

            const MEMBERS: &[Member<Slot>] =
                &[$((stringify!($field), record!(@since $($since)?), Slot::$field),)*];

            struct Fields<'c, 'p>(&'c Context<'p>);

            impl<'de> Visitor<'de> for Fields<'_, '_> {
                type Value = $name;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str($title)
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                    let cx = self.0;
                    $(let mut $field: Option<$type> = None;)*
                    let mut hint = 0;
                    loop {
                        let key = KeySeed {
                            cx,
                            members: MEMBERS,
                            refuse_unknown: record!(@$unknown),
                            hint,
                        };
                        let Some(key) = map.next_key_seed(key)? else { break };
                        let Some((index, slot)) = key else {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        };
                        hint = index + 1;
                        match slot {
                            $(Slot::$field => {
                                const NAME: &str = stringify!($field);
                                if $field.is_some() {
                                    return Err(cx.fail(NAME, A::Error::duplicate_field(NAME)));
                                }
                                $field = Some(cx.within(NAME, map.next_value_seed(Seed::new(cx)))?);
                            })*
                        }
                    }
                    let value = $name {
                        $($field: match $field {
                            Some(value) => value,
                            None => record!(@absent cx, $field, $type, A,
                                ($($default)?), ($($profile => $computed)?)),
                        },)*
                    };
                    record!(@check value, cx, A, $($check)?)
                }

                fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$name, A::Error> {
                    let cx = self.0;
                    let value = $name {
                        $($field: {
                            const NAME: &str = stringify!($field);
                            let next = if record!(@since $($since)?) <= cx.profile {
                                cx.within(NAME, seq.next_element_seed(Seed::new(cx)))?
                            } else {
                                None
                            };
                            match next {
                                Some(value) => value,
                                None => record!(@short cx, $field, self, A,
                                    ($($default)?), ($($profile => $computed)?)),
                            }
                        },)*
                    };
                    record!(@check value, cx, A, $($check)?)
                }
            }

            impl<'de> Record<'de> for $name {
                fn visitor(cx: &Context<'_>) -> impl Visitor<'de, Value = Self> {
                    Fields(cx)
                }
            }

            impl<'de> Decode<'de> for $name {
                fn decode<D: serde::Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
                    deserializer.deserialize_struct("", &[], Fields(cx))
                }
            }

            impl Encode for $name {
                fn encode<S: serde::Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
                    $crate::card::wire::encode_members(self, serializer, profile)
                }
            }

            impl Members for $name {
                fn members<K: Sink>(&self, profile: Profile, sink: &mut K) -> Result<(), K::Error> {
                    $(if record!(@since $($since)?) <= profile {
                        let written = record!(@written (&self.$field), profile, ($($written)?));
                        sink.member(stringify!($field), &self.$field, written)?;
                    })*
                    Ok(())
                }
            }
        };
    };
    (@absent $cx:ident, $field:ident, $type:ty, $access:ident, ($default:expr), ()) => { $default };
    (@absent $cx:ident, $field:ident, $type:ty, $access:ident, (), ($profile:ident => $computed:expr)) => {{
        let $profile = $cx.profile;
        $computed
    }};
    (@absent $cx:ident, $field:ident, $type:ty, $access:ident, (), ()) => {
        match <$type as Decode>::absent() {
            Some(value) => value,
            None => {
                const NAME: &str = stringify!($field);
                return Err($cx.fail(NAME, $access::Error::missing_field(NAME)));
            }
        }
    };
    (@short $cx:ident, $field:ident, $self:ident, $access:ident, ($default:expr), ()) => { $default };
    (@short $cx:ident, $field:ident, $self:ident, $access:ident, (),
        ($profile:ident => $computed:expr)) => {{
        let $profile = $cx.profile;
        $computed
    }};
    (@short $cx:ident, $field:ident, $self:ident, $access:ident, (), ()) => {{
        let before = &MEMBERS[..Slot::$field as usize];
        let length = before.iter().filter(|(_, since, _)| *since <= $cx.profile).count();
        return Err($cx.fail(stringify!($field), $access::Error::invalid_length(length, &$self)));
    }};
    (@check $value:ident, $cx:ident, $access:ident,) => { Ok($value) };
    (@check $value:ident, $cx:ident, $access:ident, $check:path) => {{
        let mut value = $value;
        match $check(&mut value, $cx) {
            Ok(()) => Ok(value),
            Err(broken) => Err($cx.fail(broken.field, $access::Error::custom(broken.reason))),
        }
    }};
    (@written $value:expr, $profile:ident, ()) => { true };
    (@written ($value:expr), $profile:ident, ($written:expr)) => {
        $crate::card::wire::applies($written, $value, $profile)
    };
    (@since) => { $crate::config::Profile::V1_3 };
    (@since $since:ident) => { $crate::config::Profile::$since };
    (@refused) => { true };
    (@ignored) => { false };
}
pub(crate) use record;
