//! What a model can be asked for: a set of flags, written as names.

use bitflags::bitflags;
use serde::de;
use serde::{Deserializer, Serializer};

use super::wire::{Context, Decode, Encode};
use crate::config::Profile;
use crate::config::Profile::{V1_3, V1_4, V1_6};

bitflags! {
    /// The flags of `model_type`.
    #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
    pub struct ModelTypes: u16 {
        /// Chat completions.
        const CHAT = 1;
        /// Text completions.
        const COMPLETIONS = 1 << 1;
        /// Embeddings.
        const EMBEDDING = 1 << 2;
        /// Tensors in and out.
        const TENSOR = 1 << 3;
        /// A prefill worker, as cards before 1.3 say it.
        const PREFILL = 1 << 4;
        /// Image generation.
        const IMAGES = 1 << 5;
        /// Audio generation.
        const AUDIOS = 1 << 6;
        /// Video generation.
        const VIDEOS = 1 << 7;
        /// Realtime sessions.
        const REALTIME = 1 << 8;
        /// Classification.
        const CLASSIFY = 1 << 9;
        /// Pooling.
        const POOLING = 1 << 10;
        /// Reranking.
        const RERANK = 1 << 11;
        /// Bits that have no name yet are kept.
        const _ = !0;
    }
}

/// Flag, name on the wire, name in the key, first release that knows the name.
const NAMES: [(ModelTypes, &str, &str, Profile); 12] = [
    (ModelTypes::CHAT, "Chat", "chat", V1_3),
    (ModelTypes::COMPLETIONS, "Completions", "completions", V1_3),
    (ModelTypes::EMBEDDING, "Embedding", "embedding", V1_3),
    (ModelTypes::TENSOR, "TensorBased", "tensor", V1_3),
    (ModelTypes::PREFILL, "Prefill", "prefill", V1_3),
    (ModelTypes::IMAGES, "Images", "images", V1_3),
    (ModelTypes::AUDIOS, "Audios", "audios", V1_3),
    (ModelTypes::VIDEOS, "Videos", "videos", V1_3),
    (ModelTypes::REALTIME, "Realtime", "realtime", V1_3),
    (ModelTypes::CLASSIFY, "Classify", "classify", V1_4),
    (ModelTypes::POOLING, "Pooling", "pooling", V1_4),
    (ModelTypes::RERANK, "Rerank", "rerank", V1_6),
];

impl ModelTypes {
    /// The flags that a release has names for.
    pub(crate) fn known(self, profile: Profile) -> Self {
        let named = NAMES.iter().filter(|(.., since)| *since <= profile).map(|(flag, ..)| *flag);
        named.fold(Self::empty(), Self::union) & self
    }

    /// Lower-case names in bit order, joined with `|`: the text in the key (WIRE 5). Empty without flags.
    pub fn lower(self) -> String {
        let names: Vec<&str> =
            NAMES.iter().filter(|(flag, ..)| self.contains(*flag)).map(|(_, _, lower, _)| *lower).collect();
        names.join("|")
    }

    /// As a card of the newest release says it: names joined with ` | `, then what has no name as one hex number.
    pub fn wire(self) -> String {
        self.written(V1_6)
    }

    fn written(self, profile: Profile) -> String {
        let known = self.known(profile);
        let named = NAMES.iter().filter(|(flag, ..)| known.contains(*flag));
        let mut parts: Vec<String> = named.map(|(_, name, ..)| (*name).to_owned()).collect();
        let rest = self.bits() & !known.bits();
        if rest != 0 {
            parts.push(format!("{rest:#x}"));
        }
        parts.join(" | ")
    }

    fn parse(text: &str, profile: Profile) -> Result<Self, String> {
        let mut flags = Self::empty();
        if text.trim().is_empty() {
            return Ok(flags);
        }
        for part in text.split('|').map(str::trim) {
            flags |= if let Some(digits) = part.strip_prefix("0x") {
                let bits = u16::from_str_radix(digits, 16);
                Self::from_bits_retain(bits.map_err(|_| format!("invalid hex flag `{digits}`"))?)
            } else {
                let known = NAMES.iter().find(|(_, name, _, since)| *name == part && *since <= profile);
                known.map(|(flag, ..)| *flag).ok_or_else(|| format!("unknown flag `{part}`"))?
            };
        }
        Ok(flags)
    }
}

/// The key text, as [`ModelTypes::lower`].
impl std::fmt::Display for ModelTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.lower())
    }
}

impl<'de> Decode<'de> for ModelTypes {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        let text = String::decode(deserializer, cx)?;
        Self::parse(&text, cx.profile).map_err(de::Error::custom)
    }
}

impl Encode for ModelTypes {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written(profile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile::V1_5;

    #[test]
    fn flags_are_names_or_hex_with_optional_spaces() {
        for (text, bits) in [
            ("", 0),
            (" ", 0),
            ("Chat", 1),
            ("Completions|Chat", 3),
            (" Chat |\t0x10 ", 0x11),
            ("0x+1", 1),
            ("0xffff", 0xffff),
            ("Rerank", 0x800),
        ] {
            assert_eq!(ModelTypes::parse(text, V1_6).unwrap().bits(), bits, "{text:?}");
        }
        for text in ["|", "Chat|", "chat", "0x", "0X1", "0x10000", "0x_1", "-0x1", "3", "Chat Completions"] {
            assert!(ModelTypes::parse(text, V1_6).is_err(), "{text:?}");
        }
    }

    #[test]
    fn releases_know_the_names_of_their_time_and_keep_other_bits() {
        for (name, profile) in [("Classify", V1_3), ("Pooling", V1_3), ("Rerank", V1_5)] {
            assert!(ModelTypes::parse(name, profile).is_err(), "{name}");
        }
        let types = ModelTypes::parse("0xe01", V1_3).unwrap();
        assert_eq!(types.written(V1_3), "Chat | 0xe00");
        assert_eq!(types.written(V1_5), "Chat | Classify | Pooling | 0x800");
        assert_eq!(types.wire(), "Chat | Classify | Pooling | Rerank");
        assert_eq!(types.known(V1_3), ModelTypes::CHAT);
    }

    #[test]
    fn key_text_is_lower_case_in_bit_order() {
        let types = ModelTypes::parse("Prefill|TensorBased|Chat|0x8000", V1_6).unwrap();
        assert_eq!(types.to_string(), "chat|tensor|prefill");
        assert_eq!(ModelTypes::empty().lower(), "");
    }
}
