//! Tensor model settings of a card. They feed nothing, yet a bad value refuses the card.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::ser::Serializer;

use super::wire::{Context, Decode, Encode, NameSeed, Named, Seed, Written, names, record, some};
use crate::config::Profile;

record! {
    pub(crate) struct TensorModelConfig, "struct TensorModelConfig", unknown refused {
        name: String;
        inputs: Vec<TensorMetadata>;
        outputs: Vec<TensorMetadata>;
        triton_model_config: Option<Vec<u8>> = None, written if some;
    }
}

record! {
    pub(crate) struct TensorMetadata, "struct TensorMetadata", unknown refused {
        name: String;
        data_type: DataType;
        shape: Vec<i64>;
        parameters: BTreeMap<String, Parameter> = BTreeMap::new(), written if |parameters, _| !parameters.is_empty();
    }
}

names! {
    pub(crate) enum DataType {
        Bool = "Bool",
        Uint8 = "Uint8",
        Uint16 = "Uint16",
        Uint32 = "Uint32",
        Uint64 = "Uint64",
        Int8 = "Int8",
        Int16 = "Int16",
        Int32 = "Int32",
        Int64 = "Int64",
        Float16 = "Float16" since V1_6,
        BFloat16 = "BFloat16" since V1_6,
        Float32 = "Float32",
        Float64 = "Float64",
        Bytes = "Bytes",
    }
}

names! {
    enum ParameterKind {
        Bool = "bool",
        Int64 = "int64",
        String = "string",
        Double = "double",
        Uint64 = "uint64",
    }
}

/// `{"<kind>": value}`.
#[derive(Clone, Debug)]
pub(crate) enum Parameter {
    Bool(bool),
    Int64(i64),
    String(String),
    Double(f64),
    Uint64(u64),
}

impl<'de> Decode<'de> for Parameter {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("", &[], ParameterVisitor(cx))
    }
}

struct ParameterVisitor<'c, 'p>(&'c Context<'p>);

impl<'de> Visitor<'de> for ParameterVisitor<'_, '_> {
    type Value = Parameter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value under the name of its kind")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Parameter, A::Error> {
        let cx = self.0;
        let (kind, rest) = data.variant_seed(NameSeed(cx, ParameterKind::NAMES))?;
        let value = match kind {
            ParameterKind::Bool => rest.newtype_variant_seed(Seed::new(cx)).map(Parameter::Bool),
            ParameterKind::Int64 => rest.newtype_variant_seed(Seed::new(cx)).map(Parameter::Int64),
            ParameterKind::String => rest.newtype_variant_seed(Seed::new(cx)).map(Parameter::String),
            ParameterKind::Double => rest.newtype_variant_seed(Seed::new(cx)).map(Parameter::Double),
            ParameterKind::Uint64 => rest.newtype_variant_seed(Seed::new(cx)).map(Parameter::Uint64),
        };
        cx.within(kind.name(), value)
    }
}

impl Encode for Parameter {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        fn tagged<T: Encode, S: Serializer>(
            serializer: S,
            kind: ParameterKind,
            value: &T,
            profile: Profile,
        ) -> Result<S::Ok, S::Error> {
            serializer.serialize_newtype_variant("", 0, kind.name(), &Written(value, profile))
        }
        match self {
            Self::Bool(value) => tagged(serializer, ParameterKind::Bool, value, profile),
            Self::Int64(value) => tagged(serializer, ParameterKind::Int64, value, profile),
            Self::String(value) => tagged(serializer, ParameterKind::String, value, profile),
            Self::Double(value) => tagged(serializer, ParameterKind::Double, value, profile),
            Self::Uint64(value) => tagged(serializer, ParameterKind::Uint64, value, profile),
        }
    }
}
