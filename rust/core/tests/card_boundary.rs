//! What the discovery boundary makes of a card, how it is written, and what `explain` says (WIRE 3.5, 4 and 6; clauses I3
//! to I6, L3, L4).

use serde_json::{Value, json};
use workerset_core::card::{BoundaryCard, ModelCard, ModelTypes, explain, is_tokenizer_backend};
use workerset_core::{AdmissionConfig, Profile, RouterPolicyFiles, WorkerType};

use Profile::{V1_3, V1_5, V1_6};

fn minimal() -> Value {
    json!({"display_name": "m", "slug": "m", "kv_cache_block_size": 16, "migration_limit": 0,
           "model_type": "Chat", "model_input": "Tokens"})
}

fn with(fields: Value) -> Value {
    let mut card = minimal();
    let Value::Object(fields) = fields else { panic!("not an object: {fields}") };
    for (field, value) in fields {
        card[field] = value;
    }
    card
}

fn with_kv(kv: Value) -> Value {
    let mut card = with(json!({"router_config": {"router_mode": "k_v", "load_threshold_config": {}}}));
    card["router_config"]["kv_router_config"] = kv;
    card
}

fn decode_as(card: &Value, profile: Profile) -> ModelCard {
    ModelCard::from_text(card.to_string().as_bytes(), profile, &RouterPolicyFiles::Refuse).expect("a good card")
}

fn decode(card: &Value) -> ModelCard {
    decode_as(card, V1_6)
}

#[test]
fn a_legacy_prefill_card_gets_its_topology() {
    let legacy = decode(&with(json!({"model_type": "Chat | Prefill"})));
    let typed = decode(&with(json!({"worker_type": "prefill", "needs": [["decode"]]})));
    assert_eq!(legacy.effective_worker_type(), WorkerType::Prefill);
    assert_ne!(legacy.mdcsum(), typed.mdcsum());
    let normalized = legacy.normalized(None, None).unwrap();
    assert_eq!(normalized.worker_type(), Some(WorkerType::Prefill));
    assert_eq!(normalized.needs(), [[WorkerType::Decode]]);
    assert_eq!(normalized.mdcsum(), typed.mdcsum());
    assert_eq!(legacy.worker_type(), None);

    let own_needs = decode(&with(json!({"model_type": "Prefill", "needs": [["encode"]]})));
    assert_eq!(own_needs.normalized(None, None).unwrap().needs(), [[WorkerType::Encode]]);
    let plain = decode(&minimal()).normalized(None, None).unwrap();
    assert_eq!((plain.worker_type(), plain.effective_worker_type()), (None, WorkerType::Aggregated));
}

#[test]
fn tokenizer_settings_never_change_the_sum() {
    let card = decode(&minimal());
    let normalized = card.normalized(Some("basetenkenizer"), Some(false)).unwrap();
    assert_eq!(normalized.mdcsum(), card.mdcsum());
    assert_eq!(normalized.to_value()["runtime_config"]["tokenizer_backend"], "basetenkenizer");
    assert_eq!(normalized.to_value()["runtime_config"]["tokenizer_fallback_enabled"], false);
    let error = decode_as(&minimal(), V1_3).normalized(Some("basetenkenizer"), None).unwrap_err();
    assert_eq!(error.field, "runtime_config.tokenizer_backend");
    assert!(is_tokenizer_backend("basetenkenizer", V1_5) && !is_tokenizer_backend("basetenkenizer", V1_3));
}

#[test]
fn shapes_that_a_frontend_refuses() {
    for (fields, field) in [
        (json!({"display_name": ""}), Some("display_name")),
        (json!({}), None),
        (json!({"model_type": "", "model_input": "Tensor"}), None),
        (json!({"model_type": "Images", "model_input": "Text"}), None),
        (json!({"model_type": "Images"}), Some("model_input")),
        (json!({"model_type": "0x8000"}), Some("model_input")),
        (json!({"model_type": "Images | Embedding"}), None),
        (json!({"model_input": "Tensor"}), Some("model_input")),
        (json!({"model_type": "TensorBased", "model_input": "Tensor"}), None),
        (json!({"worker_type": "prefill", "model_type": "Images"}), None),
        (json!({"worker_type": "prefill", "model_type": "", "model_input": "Text"}), Some("model_input")),
        (json!({"model_type": "Prefill", "model_input": "Text"}), Some("model_input")),
        (json!({"worker_type": "encode", "model_type": "", "model_input": "Text"}), Some("model_input")),
        (json!({"worker_type": "encode", "model_type": ""}), None),
        (json!({"worker_type": "encode", "model_input": "Text"}), None),
    ] {
        let refused = decode(&with(fields.clone())).check_shape().err();
        assert_eq!(refused.as_ref().map(|error| error.field.as_str()), field, "{fields} {refused:?}");
    }
}

#[test]
fn the_boundary_captures_what_admission_needs() {
    let card = decode(&with(json!({"model_type": "Prefill | Chat", "aliases": ["a"]})));
    let config = AdmissionConfig { tokenizer_backend: Some("fastokens".into()), ..AdmissionConfig::default() };
    let boundary = BoundaryCard::new(card.clone(), &config, false).unwrap();
    assert_eq!(boundary.mdc_checksum(), card.normalized(None, None).unwrap().mdcsum());
    assert_eq!(boundary.mdc_checksum(), boundary.card().mdcsum());
    assert_eq!((boundary.model_types(), boundary.worker_type()), ("chat|prefill", WorkerType::Prefill));
    assert_eq!(boundary.projection_fingerprint(), card.projection_fingerprint());
    assert_eq!(boundary.card().model_types(), ModelTypes::CHAT | ModelTypes::PREFILL);

    let adapter = decode(&with(json!({"lora": {"name": "a"}})));
    assert!(BoundaryCard::new(adapter.clone(), &config, true).is_ok());
    assert_eq!(BoundaryCard::new(adapter, &config, false).unwrap_err().field, "lora");
    assert_eq!(BoundaryCard::new(card, &config, true).unwrap_err().field, "lora");
    let nameless = decode(&with(json!({"display_name": ""})));
    assert_eq!(BoundaryCard::new(nameless, &config, false).unwrap_err().field, "display_name");
}

/// WIRE 3.5 (a) and (b): reading drops digits, writing is shortest.
#[test]
fn numbers_are_read_and_written_as_the_releases_do() {
    for (text, written) in [
        ("123456789012345678901", "1.2345678901234567e+20"),
        ("122.416294033786585", "122.4162940337866"),
        ("-0", "-0.0"),
        ("1e16", "1e+16"),
        ("1e15", "1000000000000000.0"),
        ("0.00001", "0.00001"),
        ("1.5e-7", "1.5e-7"),
        ("120", "120.0"),
    ] {
        let card =
            with_kv(json!({"router_ttl_secs": 1})).to_string().replace(r#"secs":1"#, &format!(r#"secs":{text}"#));
        let card = ModelCard::from_text(card.as_bytes(), V1_6, &RouterPolicyFiles::Refuse).unwrap();
        let value = &card.to_value()["router_config"]["kv_router_config"]["router_ttl_secs"];
        assert_eq!(value.to_string(), written, "{text}");
    }
}

#[test]
fn written_as_each_release_writes_it() {
    let mut card = minimal();
    card["needs"] = json!([]);
    for field in ["model_info", "tokenizer", "worker_type", "media_decoder", "media_fetcher"] {
        card[field] = json!(null);
    }
    let runtime = json!({"total_kv_blocks": null, "max_num_seqs": null, "max_num_batched_tokens": null,
        "tool_call_parser": null, "reasoning_parser": null, "structural_tag_mode": "off", "structural_tag_scope": "auto",
        "structural_tag_schema": "auto", "exclude_tools_when_tool_choice_none": true, "data_parallel_start_rank": 0,
        "data_parallel_size": 1, "enable_local_indexer": true, "enable_eagle": false});
    card["runtime_config"] = runtime;
    assert_eq!(decode_as(&minimal(), V1_3).to_value(), card);
    card["context_length"] = json!(0);
    assert_eq!(decode_as(&minimal(), Profile::V1_4).to_value(), card);
    card["runtime_config"]["tool_call_arguments_format"] = json!("json_string");
    assert_eq!(decode(&minimal()).to_value(), card);

    let written =
        decode(&with(json!({"runtime_config": {"structural_tag_mode": "on", "structural_tag_scope": "always",
        "kv_transfer_preferred_weight": 0.3}})));
    let runtime = &written.to_value()["runtime_config"];
    assert_eq!(runtime["structural_tag"]["scope"], "always");
    assert_eq!(runtime["kv_transfer_preferred_weight"].to_string(), "0.3");
    let fetcher = json!({"user_agent": "u", "allow_direct_ip": true, "allow_direct_port": true, "allow_private_ips": true,
        "timeout": {"secs": 1, "nanos": 2_500_000_000_u32}});
    let written = decode(&with(json!({"media_fetcher": fetcher}))).to_value();
    assert_eq!(written["media_fetcher"]["timeout"], json!({"secs": 3, "nanos": 500_000_000}));
}

/// Key order matters to the hash, so a tree must write its keys in byte order.
#[test]
fn the_projection_fingerprint_hashes_sorted_compact_json() {
    let card = decode(&with(json!({"aliases": ["b", "a"], "lora": {"name": "l", "max_gpu_lora_count": 2},
        "runtime_config": {"max_gpu_lora_count": 4}})));
    let text =
        r#"{"aliases":["b","a"],"base_capacity":4,"display_name":"m","lora":{"max_gpu_lora_count":2,"name":"l"}}"#;
    assert_eq!(card.projection_fingerprint(), blake3::hash(text.as_bytes()).to_hex().as_str());
    let text = r#"{"aliases":[],"base_capacity":null,"display_name":"m","lora":null}"#;
    assert_eq!(decode(&minimal()).projection_fingerprint(), blake3::hash(text.as_bytes()).to_hex().as_str());
}

#[test]
fn explain_names_fields_and_shows_values() {
    let fields = |left: &Value, right: &Value| -> Vec<(String, Value, Value)> {
        let differences = explain(&decode(left), &decode(right)).unwrap();
        differences.into_iter().map(|d| (d.field, d.left, d.right)).collect()
    };
    let digest = |byte: &str| format!("blake3:{}", byte.repeat(32));
    let file = |byte: &str| json!({"path": "/a/f.json", "checksum": digest(byte)});
    let data = "runtime_config.runtime_data.";
    for (left, right, expected) in [
        (with(json!({"source_path": ""})), minimal(), vec![]),
        (with(json!({"slug": "x", "taints": 1})), minimal(), vec![]),
        (
            with(json!({"kv_cache_block_size": 32, "source_path": ""})),
            minimal(),
            vec![("kv_cache_block_size".to_owned(), json!(32), json!(16))],
        ),
        (
            with(json!({"context_length": 4, "worker_type": "decode", "needs": [["prefill"]]})),
            minimal(),
            vec![
                ("context_length".to_owned(), json!(4), json!(0)),
                ("worker_type".to_owned(), json!("decode"), json!(null)),
                ("needs".to_owned(), json!([["prefill"]]), json!([])),
            ],
        ),
        (
            with(json!({"tokenizer": {"hf_tokenizer_json": file("ab")}, "extra_files": [file("cd")]})),
            with(json!({"tokenizer": {"tik_token_model": file("ef")}})),
            vec![
                ("tokenizer".to_owned(), json!(digest("ab")), json!(digest("ef"))),
                ("extra_files".to_owned(), json!([{"name": "f.json", "checksum": digest("cd")}]), json!([])),
            ],
        ),
        (
            with_kv(json!({"router_ttl_secs": 60, "decode_active_request_weight": 0.5, "router_temperature": -0.0})),
            with_kv(json!({})),
            vec![
                ("router_config.kv_router_config.decode_active_request_weight".to_owned(), json!(0.5), json!(0.0)),
                ("router_config.kv_router_config.router_temperature".to_owned(), json!(-0.0), json!(0.0)),
                ("router_config.kv_router_config.router_ttl_secs".to_owned(), json!(60.0), json!(120.0)),
            ],
        ),
        (
            with(json!({"indexer_identity": {"semantics": {"a": "b"}}})),
            with(json!({"indexer_identity": {}})),
            vec![("indexer_identity.semantics".to_owned(), json!({"a": "b"}), json!(null))],
        ),
        (
            with(json!({"indexer_identity": {}})),
            minimal(),
            vec![("indexer_identity".to_owned(), json!({}), json!(null))],
        ),
        (
            with(json!({"runtime_config": {"runtime_data": {"vllm_inference_v1_generate": "yes", "zz": 1}}})),
            with(json!({"runtime_config": {"runtime_data": {"vllm_inference_v1_generate": 1}}})),
            vec![(format!("{data}vllm_inference_v1_generate"), json!("yes"), json!(1))],
        ),
        (
            with(json!({"runtime_config": {"runtime_data": {"vllm_nemotron_video_processor_contract": null}}})),
            minimal(),
            vec![(format!("{data}vllm_nemotron_video_processor_contract"), json!(null), json!(null))],
        ),
    ] {
        assert_eq!(fields(&left, &right), expected, "{left} {right}");
    }
    let router = fields(&with_kv(json!({})), &minimal());
    assert_eq!(router.len(), 1);
    assert_eq!((router[0].0.as_str(), &router[0].2), ("router_config", &Value::Null));
    assert!(explain(&decode(&minimal()), &decode_as(&minimal(), V1_5)).is_err());
}

/// Fields that run together in the hash differ and do not count (WIRE 2.4).
#[test]
fn explain_follows_the_hash_where_fields_run_together() {
    let left = decode(&with(json!({"display_name": "ab", "source_path": "c"})));
    let right = decode(&with(json!({"display_name": "a", "source_path": "bc"})));
    assert_eq!(left.mdcsum(), right.mdcsum());
    assert_eq!(explain(&left, &right).unwrap(), []);
}
