//! How cards are read: WIRE 0, 1 and 3 by rule, and what an error says (clauses I6, R7).

use serde_json::{Value, json};
use workerset_core::card::{ModelCard, RouterMode};
use workerset_core::{CardError, Profile, RouterPolicyFiles};

use Profile::{V1_3, V1_4, V1_5, V1_6};

fn minimal() -> Value {
    json!({"display_name": "m", "slug": "m", "kv_cache_block_size": 16, "migration_limit": 0,
           "model_type": "Chat", "model_input": "Text"})
}

fn with(field: &str, value: Value) -> Value {
    let mut card = minimal();
    card[field] = value;
    card
}

fn with_kv(kv: Value) -> Value {
    let mut router = json!({"router_mode": "k_v", "load_threshold_config": {}});
    router["kv_router_config"] = kv;
    with("router_config", router)
}

fn decode(card: &Value, profile: Profile) -> Result<ModelCard, CardError> {
    ModelCard::from_text(card.to_string().as_bytes(), profile, &RouterPolicyFiles::Refuse)
}

fn text(card: &str) -> Result<ModelCard, CardError> {
    ModelCard::from_text(card.as_bytes(), V1_6, &RouterPolicyFiles::Refuse)
}

#[track_caller]
fn refused(card: &Value, profile: Profile, field: &str) {
    let error = decode(card, profile).expect_err("must be refused");
    assert_eq!(error.field, field, "{error}");
}

#[test]
fn errors_name_the_field() {
    let digest = format!("blake3:{}", "ab".repeat(32));
    for (card, field) in [
        (json!(null), ""),
        (json!({}), "display_name"),
        (with("needs", json!([["prefill", "x"]])), "needs[0][1]"),
        (with("aliases", json!(["a", 1])), "aliases[1]"),
        (with("slug", json!("A")), "slug"),
        (with("model_type", json!("chat")), "model_type"),
        (with("worker_type", json!("Prefill")), "worker_type"),
        (with("lora", json!({})), "lora.name"),
        (with("runtime_config", json!({"data_parallel_size": "2"})), "runtime_config.data_parallel_size"),
        (with("runtime_config", json!({"topology_domains": {"zone": 1}})), "runtime_config.topology_domains.zone"),
        (with("tokenizer", json!({"hf_tokenizer_json": {"path": "p"}})), "tokenizer.hf_tokenizer_json.checksum"),
        (with("extra_files", json!([{"path": "p", "checksum": &digest, "size": -1}])), "extra_files[0].size"),
        (with("media_decoder", json!({"image": {"limits": {"zz": 1}}})), "media_decoder.image.limits.zz"),
        (with("router_config", json!({"router_mode": "kv"})), "router_config.router_mode"),
        (with_kv(json!({"zz": 1})), "router_config.kv_router_config.zz"),
        (with_kv(json!({"router_event_threads": 0})), "router_config.kv_router_config.router_event_threads"),
    ] {
        refused(&card, V1_6, field);
    }
    assert_eq!(text("{").unwrap_err().to_string(), "EOF while parsing an object at line 1 column 1");
    assert_eq!(
        decode(&with_kv(json!({"router_event_threads": 0})), V1_6).unwrap_err().to_string(),
        "router_config.kv_router_config.router_event_threads: must be at least 1"
    );
}

#[test]
fn text_refuses_what_a_tree_has_lost() {
    let twice = r#"{"display_name":"a","slug":"m","kv_cache_block_size":16,"migration_limit":0,"model_type":"Chat",
        "model_input":"Text","display_name":"b"}"#;
    assert_eq!(text(twice).unwrap_err().field, "display_name");
    let tree: Value = serde_json::from_str(twice).unwrap();
    let card = ModelCard::from_tree(tree, twice.as_bytes().into(), V1_6, &RouterPolicyFiles::Refuse).unwrap();
    assert_eq!(card.display_name(), "b");
    assert_eq!(&**card.raw(), twice.as_bytes());

    let unreadable = minimal().to_string().replacen('{', r#"{"zz":[1e999],"#, 1);
    assert!(text(&unreadable).is_ok());
    assert!(serde_json::from_str::<Value>(&unreadable).is_err());
    assert_eq!(text(&unreadable.replace("zz", "user_data")).unwrap_err().field, "user_data");
    assert_eq!(ModelCard::from_text(b"\xff", V1_6, &RouterPolicyFiles::Refuse).unwrap_err().field, "");
}

#[test]
fn a_release_ignores_what_it_does_not_know_yet() {
    for (field, since) in [("aliases", V1_4), ("context_length", V1_4), ("indexer_identity", V1_4)] {
        for profile in Profile::ALL {
            assert_eq!(decode(&with(field, json!("any")), profile).is_err(), profile >= since, "{field} {profile:?}");
        }
    }
    for (field, since) in [
        ("kv_event_publishing_enabled", V1_4),
        ("kv_state_endpoint", V1_4),
        ("tokenizer_fallback_enabled", V1_5),
        ("tool_call_arguments_format", V1_5),
        ("structural_tag", V1_6),
    ] {
        for profile in Profile::ALL {
            let card = with("runtime_config", json!({field: 7}));
            assert_eq!(decode(&card, profile).is_err(), profile >= since, "{field} {profile:?}");
        }
    }
    let mut card = with_kv(json!({}));
    card["router_config"]["session_affinity_mode"] = json!(null);
    for profile in Profile::ALL {
        assert_eq!(decode(&card, profile).is_err(), profile >= V1_5);
    }
}

#[test]
fn the_router_refuses_keys_of_later_releases() {
    for (key, value, since) in [
        ("decode_active_request_weight", json!(0.5), V1_4),
        ("router_tracking_hash", json!("public-xxh3-v1"), V1_4),
        ("conditional_disagg_enabled", json!(false), V1_4),
        ("enable_session_prefix_index", json!(false), V1_6),
    ] {
        for profile in Profile::ALL {
            assert_eq!(decode(&with_kv(json!({key: value})), profile).is_err(), profile < since, "{key} {profile:?}");
        }
    }
    for key in ["router_prefill_policy", "router_decode_policy", "router_approximate_cache_policy"] {
        refused(&with_kv(json!({key: null})), V1_6, &format!("router_config.kv_router_config.{key}"));
    }
}

#[test]
fn router_rules() {
    let keyed = json!({"router_tracking_hash": "keyed-xxh3-v1", "router_tracking_key_file": "",
                       "router_tracking_key_id": "k"});
    let load = json!({"conditional_disagg_enabled": true, "conditional_disagg_policy": "isl_or_load"});
    for (kv, first, last) in [
        (json!({"router_temperature": -0.1}), None, None),
        (json!({"router_temperature": -0.0}), Some(V1_3), Some(V1_6)),
        (json!({"overlap_score_weight": -1}), None, None),
        (json!({"host_cache_hit_weight": 1.1}), None, None),
        (json!({"overlap_score_credit": 1.5}), Some(V1_4), Some(V1_6)),
        (json!({"router_snapshot_threshold": 0}), Some(V1_4), Some(V1_6)),
        (json!({"router_event_threads": 0}), None, None),
        (json!({"durable_kv_events": true}), Some(V1_3), Some(V1_3)),
        (json!({"durable_kv_events": true, "use_kv_events": false}), None, None),
        (keyed, Some(V1_4), Some(V1_6)),
        (json!({"router_tracking_hash": "keyed-xxh3-v1", "router_tracking_key_file": "f"}), None, None),
        (
            json!({"router_tracking_hash": "keyed-xxh3-v1", "router_tracking_key_file": "f",
                   "router_tracking_key_id": " k"}),
            None,
            None,
        ),
        (json!({"router_tracking_key_id": "k"}), None, None),
        (json!({"router_tracking_key_file": "f"}), None, None),
        (json!({"router_track_output_blocks": true, "router_track_active_blocks": false}), None, None),
        (json!({"router_prefill_load_model": "aic", "router_track_prefill_tokens": false}), None, None),
        (json!({"router_prefill_load_model": "ais"}), Some(V1_6), Some(V1_6)),
        (json!({"router_predicted_ttl_secs": 1, "use_kv_events": false}), None, None),
        (json!({"use_remote_indexer": true, "serve_indexer": true}), None, None),
        (json!({"serve_indexer": true, "overlap_score_credit": 0}), Some(V1_6), Some(V1_6)),
        (json!({"serve_indexer": true, "overlap_score_weight": 0}), Some(V1_6), Some(V1_6)),
        (json!({"enable_session_prefix_index": true}), Some(V1_6), Some(V1_6)),
        (json!({"enable_session_prefix_index": true, "use_kv_events": false}), None, None),
        (json!({"enable_session_prefix_index": true, "use_remote_indexer": true}), None, None),
        (load.clone(), Some(V1_4), Some(V1_4)),
        (json!({"conditional_disagg_enabled": true}), Some(V1_4), Some(V1_6)),
        (json!({"shared_cache_multiplier": null}), Some(V1_6), Some(V1_6)),
        (json!({"use_kv_events": null}), None, None),
    ] {
        for profile in Profile::ALL {
            let good = first.is_some_and(|first| first <= profile) && last.is_some_and(|last| profile <= last);
            let decoded = decode(&with_kv(kv.clone()), profile);
            assert_eq!(decoded.is_ok(), good, "{kv} {profile:?} {:?}", decoded.err());
        }
    }
    for threshold in ["router_queue_threshold", "conditional_disagg_prefill_busy_threshold"] {
        let mut kv = load.clone();
        kv[threshold] = json!(2);
        assert!(decode(&with_kv(kv), V1_6).is_ok(), "{threshold}");
    }
}

#[test]
fn a_policy_file_is_the_callers_to_judge() {
    let card = with_kv(json!({"router_policy_config": "/etc/policy.yaml"})).to_string();
    let decode = |files: RouterPolicyFiles| ModelCard::from_text(card.as_bytes(), V1_6, &files);
    assert_eq!(
        decode(RouterPolicyFiles::Refuse).unwrap_err().field,
        "router_config.kv_router_config.router_policy_config"
    );
    assert!(decode(RouterPolicyFiles::Accept).is_ok());
    assert!(decode(RouterPolicyFiles::Paths(["/etc/policy.yaml".to_owned()].into())).is_ok());
    assert!(decode(RouterPolicyFiles::Paths(["/etc/other.yaml".to_owned()].into())).is_err());
}

#[test]
fn a_record_may_be_an_array_in_field_order() {
    let digest = format!("blake3:{}", "ab".repeat(32));
    let full = json!(["m", "m", null, null, {"tik_token_model": ["/t", digest]}, null, null, null, null, null, 5, 16, 0, "Chat",
                      "Text", {"decode": null}, [["prefill"]], ["adapter"], ["alias"]]);
    let card = decode(&full, V1_6).unwrap();
    assert_eq!((card.context_length(), card.kv_cache_block_size()), (5, 16));
    assert_eq!(card.aliases(), ["alias"]);
    assert_eq!(card.lora().map(|lora| (lora.name(), lora.max_gpu_lora_count())), Some(("adapter", None)));
    // 1.3 has no place for the context length.
    let short = json!(["m", "m", null, null, null, null, null, null, null, null, 16, 0, "Chat", "Text"]);
    assert!(decode(&short, V1_3).is_ok());
    refused(&short, V1_4, "migration_limit");
    refused(&json!(["m", "m", null]), V1_6, "model_info");
    refused(&with("runtime_config", json!([])), V1_6, "runtime_config.total_kv_blocks");
}

#[test]
fn accessors() {
    let mut card = with_kv(json!({}));
    card["router_config"]["enforce_disagg"] = json!(true);
    card["source_path"] = json!("/models/m");
    card["architectural_max_context_length"] = json!(100);
    card["runtime_config"] =
        json!({"runtime_data": {"a": true, "b": " YES ", "c": 1, "d": "y", "e": "\u{3000}On\u{a0}"}});
    let card = decode(&card, V1_6).unwrap();
    assert_eq!(card.profile(), V1_6);
    assert_eq!(card.router_mode(), Some(RouterMode::KV));
    assert!(card.enforce_disagg());
    assert_eq!((card.source_path(), card.slug(), card.model_input()), (Some("/models/m"), "m", "Text"));
    assert_eq!((card.context_length(), card.migration_limit()), (100, 0));
    assert_eq!((card.worker_type(), card.needs()), (None, &[][..]));
    let truthy = ["a", "b", "c", "d", "e", "f"].map(|key| card.runtime_data_flag(key));
    assert_eq!(truthy, [true, true, false, false, true, false]);
    assert_eq!(RouterMode::from_name("k_v").map(RouterMode::as_str), Some("k_v"));
    assert_eq!(RouterMode::from_name("kv"), None);
}

#[test]
fn context_lengths_in_order_and_an_explicit_zero_wins() {
    for (runtime, architectural, own, expected, expected_in_1_3) in [
        (json!(9), json!(7), json!(5), 9, 9),
        (json!(0), json!(7), json!(5), 0, 0),
        (json!(null), json!(7), json!(5), 7, 7),
        (json!(null), json!(0), json!(5), 0, 0),
        (json!(null), json!(null), json!(5), 5, 0),
        (json!(null), json!(null), json!(null), 0, 0),
    ] {
        let mut card = with("runtime_config", json!({"context_length": runtime}));
        card["architectural_max_context_length"] = architectural;
        card["context_length"] = own;
        assert_eq!(decode(&card, V1_4).unwrap().context_length(), expected, "{card}");
        assert_eq!(decode(&card, V1_3).unwrap().context_length(), expected_in_1_3, "{card}");
    }
}
