//! Texts that others wrote, as reasons and errors show them.

use std::fmt::{self, Display, Write};

/// How many characters of a foreign text are shown.
const SHOWN: usize = 200;

/// The text of something, cut to 200 characters with `...` behind them. Cost: no more than those characters' worth of
/// memory, whatever the text's length.
pub(crate) fn clipped(value: &(impl Display + ?Sized)) -> String {
    let mut clip = Clip { text: String::new(), left: SHOWN };
    // The only error is the clip's own, which says that it is full.
    if write!(clip, "{value}").is_err() {
        clip.text.push_str("...");
    }
    clip.text
}

struct Clip {
    text: String,
    left: usize,
}

impl Write for Clip {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(char);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::clipped;

    #[test]
    fn what_is_longer_than_200_characters_is_cut() {
        let long = "é".repeat(201);
        assert_eq!(clipped(&long[..400]), long[..400]);
        assert_eq!(clipped(&long), format!("{}...", &long[..400]));
        assert_eq!(clipped(&serde_json::json!(["a", 1])), r#"["a",1]"#);
    }
}
