//! The projection fingerprint: what adapter projections depend on, apart from compatibility (WIRE 6; clause I4).

use serde_json::{Map, Value, json};

use super::ModelCard;

impl ModelCard {
    /// BLAKE3 of the compact JSON of aliases, base capacity, display name and adapter, as 64 lower-case hex digits.
    pub fn projection_fingerprint(&self) -> String {
        let lora = self.lora().map(|lora| {
            let mut entry = Map::new();
            entry.insert("name".into(), lora.name().into());
            if let Some(count) = lora.max_gpu_lora_count() {
                entry.insert("max_gpu_lora_count".into(), count.into());
            }
            Value::Object(entry)
        });
        // Keys of a tree are in byte order.
        let projection = json!({
            "aliases": self.aliases(),
            "base_capacity": self.card.runtime_config.max_gpu_lora_count,
            "display_name": self.display_name(),
            "lora": lora,
        });
        blake3::hash(projection.to_string().as_bytes()).to_hex().to_string()
    }
}
