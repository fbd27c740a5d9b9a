//! Texts that others wrote, as reasons and errors show them.

use std::fmt::{self, Display, Write};

/// How many characters of a foreign text are shown.
const SHOWN: usize = 200;

/// How many characters a reason has, which may show several foreign texts.
const REASON: usize = 1000;

/// The text of something, cut to 200 characters with `...` behind them. Cost: no more than those characters' worth of
/// memory, whatever the text's length.
pub(crate) fn clipped(value: &(impl Display + ?Sized)) -> String {
    cut(value, SHOWN)
}

/// A reason, cut to 1000 characters.
pub(crate) fn reason(value: &(impl Display + ?Sized)) -> String {
    cut(value, REASON)
}

fn cut(value: &(impl Display + ?Sized), left: usize) -> String {
    let mut clip = Clip { text: String::new(), left };
    // The only error is the clip's own, which says that it is full.
    if write!(clip, "{value}").is_err() {
        clip.text.push_str("...");
    }
    clip.text
}

/// A foreign name, in quotes, cut as [`clipped`] does.
pub(crate) fn quoted(name: &str) -> String {
    format!("{:?}", clipped(name))
}

/// `1 worker`, `2 workers`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A duration for people: `1.0 s`, `12 s`, `5 min`, `3.5 h`, `2.5 days`. What is not positive is no time.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds if seconds < 119.5 => format!("{seconds:.0} s"),
        seconds if seconds < 7170.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        seconds => format!("{:.1} days", seconds / 86_400.0),
    }
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
    use super::{clipped, count, duration, quoted};

    #[test]
    fn what_is_longer_than_200_characters_is_cut() {
        let long = "é".repeat(201);
        assert_eq!(clipped(&long[..400]), long[..400]);
        assert_eq!(clipped(&long), format!("{}...", &long[..400]));
        assert_eq!(clipped(&serde_json::json!(["a", 1])), r#"["a",1]"#);
        assert_eq!(quoted("a\n\""), r#""a\n\"""#);
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [count(0, "worker"), count(1, "worker"), count(2, "worker")],
            ["0 workers", "1 worker", "2 workers"]
        );
        let seconds =
            [-1.0, 0.0, 0.04, 1.0, 9.94, 9.96, 12.3, 119.4, 119.6, 600.0, 7169.0, 7200.0, 90_000.0, 216_000.0];
        let texts = seconds.map(duration);
        let expected = [
            "0.0 s", "0.0 s", "0.0 s", "1.0 s", "9.9 s", "10 s", "12 s", "119 s", "2 min", "10 min", "119 min",
            "2.0 h", "25.0 h", "2.5 days",
        ];
        assert_eq!(texts, expected);
    }
}
