//! Files that a card names: their digests, and the file name that the checksum sees.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::ser::Serializer;
use url::Url;

use super::wire::{Context, Decode, Encode, NameSeed, Named, Record, Seed, Written, names, record, some};
use crate::config::Profile;

record! {
    /// A file that every worker of a set has, known by its content.
    pub(crate) struct File, "struct WireCheckedFile", unknown ignored {
        path: Location;
        checksum: Digest;
        size: Option<u64> = None, written if some;
    }
}

/// Where a worker found a file: a URL if it reads as one, else a path of its own disk. Not hashed.
#[derive(Clone, Debug)]
pub(crate) struct Location(String);

impl Location {
    /// The last component, which the checksum sees for extra files (WIRE 2.5); empty if there is none.
    pub(crate) fn basename(&self) -> String {
        if let Ok(url) = Url::parse(&self.0) {
            return url.path().rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
        }
        let last = self.0.rsplit('/').find(|part| !matches!(*part, "" | "."));
        last.filter(|part| *part != "..").unwrap_or_default().to_owned()
    }
}

impl<'de> Decode<'de> for Location {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        String::decode(deserializer, cx).map(Self)
    }
}

/// A URL is written in its normal form.
impl Encode for Location {
    fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
        match Url::parse(&self.0) {
            Ok(url) => serializer.serialize_str(url.as_str()),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// `blake3:` and 64 lower-case hex digits.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Digest(String);

impl Digest {
    const PREFIX: &str = "blake3:";

    /// The whole text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits alone.
    pub(crate) fn hex(&self) -> &str {
        &self.0[Self::PREFIX.len()..]
    }
}

impl<'de> Decode<'de> for Digest {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        let text = String::decode(deserializer, cx)?;
        let hex = text.strip_prefix(Self::PREFIX);
        let good =
            hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        if good {
            Ok(Self(text))
        } else {
            Err(de::Error::custom(format_args!(
                "invalid checksum {text:?}, expected `blake3:` and 64 lower-case hex digits"
            )))
        }
    }
}

impl Encode for Digest {
    fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

names! {
    pub(crate) enum ModelInfoKind {
        HfConfigJson = "hf_config_json",
    }
}

names! {
    pub(crate) enum TokenizerKind {
        HfTokenizerJson = "hf_tokenizer_json",
        TikTokenModel = "tik_token_model",
    }
}

names! {
    pub(crate) enum GenerationConfigKind {
        HfGenerationConfigJson = "hf_generation_config_json",
    }
}

names! {
    #[allow(clippy::enum_variant_names)] // names on the wire
    pub(crate) enum TemplateKind {
        HfTokenizerConfigJson = "hf_tokenizer_config_json",
        HfChatTemplate = "hf_chat_template",
        HfChatTemplateJson = "hf_chat_template_json",
    }
    also { "hf_chat_template_jinja" = HfChatTemplate since V1_3 }
}

/// `{"<kind>": File}`. The kind is not hashed.
#[derive(Clone, Debug)]
pub(crate) struct Tagged<K> {
    kind: K,
    file: File,
}

/// A prompt template. Neither its kind nor whether it is custom is hashed.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    kind: TemplateKind,
    content: TemplateContent,
}

#[derive(Clone, Debug)]
enum TemplateContent {
    Bare(File),
    Custom(CustomFile),
}

record! {
    pub(crate) struct CustomFile, "struct variant PromptFormatterArtifact", unknown ignored {
        is_custom: bool;
        file: File;
    }
}

/// A slot of the card that holds one file.
pub(crate) trait Slot {
    fn file(&self) -> &File;
}

impl<K> Slot for Tagged<K> {
    fn file(&self) -> &File {
        &self.file
    }
}

impl Slot for Template {
    fn file(&self) -> &File {
        match &self.content {
            TemplateContent::Bare(file) => file,
            TemplateContent::Custom(custom) => &custom.file,
        }
    }
}

struct ArmVisitor<'c, 'p, T>(&'c Context<'p>, PhantomData<T>);

impl<'de, K: Named> Decode<'de> for Tagged<K> {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("", &[], ArmVisitor(cx, PhantomData::<Self>))
    }
}

impl<'de, K: Named> Visitor<'de> for ArmVisitor<'_, '_, Tagged<K>> {
    type Value = Tagged<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file under the name of its kind")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Self::Value, A::Error> {
        let (kind, rest) = data.variant_seed(NameSeed(self.0, K::NAMES))?;
        let file = self.0.within(kind.name(), rest.newtype_variant_seed(Seed::new(self.0)))?;
        Ok(Tagged { kind, file })
    }
}

impl<K: Named> Encode for Tagged<K> {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_variant("", 0, self.kind.name(), &Written(&self.file, profile))
    }
}

impl<'de> Decode<'de> for Template {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("", &[], ArmVisitor(cx, PhantomData::<Self>))
    }
}

impl<'de> Visitor<'de> for ArmVisitor<'_, '_, Template> {
    type Value = Template;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a template under the name of its kind")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Template, A::Error> {
        let cx = self.0;
        let (kind, rest) = data.variant_seed(NameSeed(cx, TemplateKind::NAMES))?;
        let content = match kind {
            TemplateKind::HfTokenizerConfigJson => rest.newtype_variant_seed(Seed::new(cx)).map(TemplateContent::Bare),
            TemplateKind::HfChatTemplate | TemplateKind::HfChatTemplateJson => {
                rest.struct_variant(&[], CustomFile::visitor(cx)).map(TemplateContent::Custom)
            }
        };
        Ok(Template { kind, content: cx.within(kind.name(), content)? })
    }
}

impl Encode for Template {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        let name = self.kind.name();
        match &self.content {
            TemplateContent::Bare(file) => serializer.serialize_newtype_variant("", 0, name, &Written(file, profile)),
            TemplateContent::Custom(file) => serializer.serialize_newtype_variant("", 0, name, &Written(file, profile)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basenames_of_paths_and_urls() {
        for (path, name) in [
            ("/a/b/c.json", "c.json"),
            ("c.json", "c.json"),
            ("/a/b//.", "b"),
            ("./a/./", "a"),
            ("/a/..", ""),
            ("..", ""),
            (".", ""),
            ("/", ""),
            ("", ""),
            ("http://h/a/b.json/?q", "b.json"),
            ("http://h/\u{e9} b", "%C3%A9%20b"),
            ("http://h/", ""),
            ("http://h/a/../^|[]", "^|[]"),
            ("HTTP://h/x\"<>`{}#f", "x%22%3C%3E%60%7B%7D"),
            ("a:b/c", "c"),
            (r"C:\x\y", r"\x\y"),
            ("http://[x", "[x"),
        ] {
            assert_eq!(Location(path.into()).basename(), name, "{path}");
        }
    }
}
