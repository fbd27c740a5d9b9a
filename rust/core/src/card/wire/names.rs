//! Variants that are known by a name.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

use super::Context;
use crate::config::Profile;

/// A name that a value goes by, and the first release that knows it.
pub(crate) type Name<T> = (&'static str, T, Profile);

/// Reads the name of a variant: `"name"`, or the only key of an object.
pub(crate) struct NameSeed<'c, 'p, T: 'static>(pub(crate) &'c Context<'p>, pub(crate) &'static [Name<T>]);

impl<'de, T: Copy> DeserializeSeed<'de> for NameSeed<'_, '_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: Copy> Visitor<'_> for NameSeed<'_, '_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        find_name(self.1, text, self.0.profile).map_err(E::custom)
    }
}

/// Reads a variant that has nothing but its name.
pub(crate) fn decode_name<'de, T: Copy, D: Deserializer<'de>>(
    deserializer: D,
    cx: &Context<'_>,
    names: &'static [Name<T>],
) -> Result<T, D::Error> {
    struct Unit<'c, 'p, T: 'static>(NameSeed<'c, 'p, T>);

    impl<'de, T: Copy> Visitor<'de> for Unit<'_, '_, T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }

        fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<T, A::Error> {
            let (value, rest) = data.variant_seed(self.0)?;
            rest.unit_variant()?;
            Ok(value)
        }
    }

    deserializer.deserialize_enum("", &[], Unit(NameSeed(cx, names)))
}

/// The value of a name in a release, or what to say to somebody who gave another name.
pub(crate) fn find_name<T: Copy>(names: &[Name<T>], text: &str, profile: Profile) -> Result<T, String> {
    let known = || names.iter().filter(|(_, _, since)| *since <= profile);
    known().find(|(name, _, _)| *name == text).map(|(_, value, _)| *value).ok_or_else(|| {
        let expected: Vec<String> = known().map(|(name, _, _)| format!("`{name}`")).collect();
        format!("unknown variant `{text}`, expected {}", expected.join(" or "))
    })
}

/// An enum made by [`names!`].
pub(crate) trait Named: Copy + 'static {
    const NAMES: &'static [Name<Self>];

    fn name(self) -> &'static str;
}

/// Declares an enum whose variants are names on the wire, each with the first release that knows it (1.3 if not said).
/// Names under `also` are read and never written.
macro_rules! names {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(since $since:ident)?),* $(,)?
        }
        $(also { $($alias:literal = $target:ident since $alias_since:ident),* })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $crate::card::wire::Named for $name {
            const NAMES: &'static [$crate::card::wire::Name<Self>] = &[
                $(($text, Self::$variant, names!(@since $($since)?)),)*
                $($(($alias, Self::$target, $crate::config::Profile::$alias_since),)*)?
            ];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl<'de> $crate::card::wire::Decode<'de> for $name {
            fn decode<D: serde::Deserializer<'de>>(
                deserializer: D,
                cx: &$crate::card::wire::Context<'_>,
            ) -> Result<Self, D::Error> {
                $crate::card::wire::decode_name(deserializer, cx, <Self as $crate::card::wire::Named>::NAMES)
            }
        }

        impl $crate::card::wire::Encode for $name {
            fn encode<S: serde::Serializer>(
                &self,
                serializer: S,
                _: $crate::config::Profile,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::card::wire::Named::name(*self))
            }
        }
    };
    (@since) => { $crate::config::Profile::V1_3 };
    (@since $since:ident) => { $crate::config::Profile::$since };
}
pub(crate) use names;
