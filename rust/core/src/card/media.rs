//! Media settings of a card. They feed nothing, yet a bad value refuses the card.

use std::collections::BTreeSet;

use super::wire::{Broken, Context, record, some};

record! {
    pub(crate) struct MediaDecoder, "struct MediaDecoder", unknown ignored {
        image: Option<ImageDecoder> = None, written if some;
    }
}

record! {
    pub(crate) struct ImageDecoder, "struct ImageDecoder", unknown refused {
        limits: ImageLimits = ImageLimits {
            max_image_width: None,
            max_image_height: None,
            max_alloc: Some(128 * 1024 * 1024),
        };
    }
}

record! {
    pub(crate) struct ImageLimits, "struct ImageDecoderLimits", unknown refused {
        max_image_width: Option<u32> = None;
        max_image_height: Option<u32> = None;
        max_alloc: Option<u64> = None;
    }
}

record! {
    pub(crate) struct MediaFetcher, "struct MediaFetcher", unknown ignored {
        user_agent: String;
        allow_direct_ip: bool;
        allow_direct_port: bool;
        allow_private_ips: bool;
        allowed_media_domains: Option<BTreeSet<String>>;
        timeout: Option<Timeout>;
    }
}

record! {
    pub(crate) struct Timeout, "struct Duration", unknown refused, then carry {
        secs: u64;
        nanos: u32;
    }
}

/// Whole seconds move out of the nanoseconds.
fn carry(timeout: &mut Timeout, _: &Context<'_>) -> Result<(), Broken> {
    const NANOS: u32 = 1_000_000_000;
    let secs = timeout.secs.checked_add(u64::from(timeout.nanos / NANOS));
    timeout.secs = secs.ok_or_else(|| Broken { field: "secs", reason: "the duration overflows".into() })?;
    timeout.nanos %= NANOS;
    Ok(())
}
