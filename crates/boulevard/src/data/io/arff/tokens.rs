//! Words, quoted words and lists.

use std::borrow::Cow;

/// What separates one word from the next.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// Blanks only, as in declarations.
    Blank,
    /// Commas only, as in lists and rows.
    Comma,
}

/// The first word of `text`, without its quotes, and what follows it: from the separator on. The error is a sentence.
///
/// Quotes are single or double; inside them a backslash makes the next letter plain, and `\n`, `\t`, `\r` are what they are elsewhere.
pub(super) fn word(text: &[u8], until: Until) -> Result<(Cow<'_, [u8]>, &[u8]), String> {
    let text = text.trim_ascii_start();
    let Some(&quote) = text.first().filter(|byte| matches!(byte, b'\'' | b'"')) else {
        let ends = |byte: &u8| match until {
            Until::Blank => byte.is_ascii_whitespace(),
            Until::Comma => *byte == b',',
        };
        let end = text.iter().position(ends).unwrap_or(text.len());
        return Ok((Cow::Borrowed(text[..end].trim_ascii_end()), &text[end..]));
    };
    let mut out = Vec::new();
    let mut at = 1;
    loop {
        match text.get(at) {
            None => return Err(format!("the quote {} is never closed", char::from(quote))),
            Some(&byte) if byte == quote => return Ok((Cow::Owned(out), text[at + 1..].trim_ascii_start())),
            Some(b'\\') => {
                at += 1;
                match text.get(at) {
                    Some(b'n') => out.push(b'\n'),
                    Some(b't') => out.push(b'\t'),
                    Some(b'r') => out.push(b'\r'),
                    Some(&plain) => out.push(plain),
                    None => continue,
                }
            }
            Some(&byte) => out.push(byte),
        }
        at += 1;
    }
}

/// The fields of a list, separated by commas; a trailing comma is a mistake, an empty list has no fields.
pub(super) fn fields<'a>(mut text: &'a [u8], out: &mut Vec<Cow<'a, [u8]>>) -> Result<(), String> {
    out.clear();
    if text.trim_ascii().is_empty() {
        return Ok(());
    }
    loop {
        let (field, rest) = word(text, Until::Comma)?;
        out.push(field);
        match rest.first() {
            None => return Ok(()),
            Some(b',') => text = &rest[1..],
            Some(_) => return Err("a quoted value must be followed by a comma".to_owned()),
        }
    }
}

/// The line without its comment: `%` outside quotes starts one.
pub(super) fn without_comment(line: &[u8]) -> &[u8] {
    if !line.contains(&b'%') {
        return line.trim_ascii();
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, &byte) in line.iter().enumerate() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'%') => return line[..at].trim_ascii(),
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, _) => {}
        }
    }
    line.trim_ascii()
}

/// A name as it is written: in quotes where it would be read as something else.
pub(super) fn quoted(name: &str) -> Cow<'_, str> {
    let plain =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '+' | '.' | '=' | '/' | '*' | '<' | '>' | ':' | '(' | ')');
    if !name.is_empty() && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let mut out = String::from("'");
    for letter in name.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\'' | '"' | '\\' => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out.push('\'');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_with_quotes() {
        let mut out = Vec::new();
        fields(b" a, 'b, \\'c' ,\"d\\n\", , e f ", &mut out).unwrap();
        assert_eq!(out, [&b"a"[..], b"b, 'c", b"d\n", b"", b"e f"]);
        assert!(fields(b"'a' b, c", &mut out).is_err());
        assert!(fields(b"'a", &mut out).is_err());
        assert!(fields(b"'a\\", &mut out).is_err());
    }

    #[test]
    fn comments_end_lines() {
        assert_eq!(without_comment(b" 1,2 % x"), b"1,2");
        assert_eq!(without_comment(b"'50%',2 % 'x"), b"'50%',2");
        assert_eq!(without_comment(b"% x"), b"");
    }

    proptest! {
        #[test]
        fn quoted_names_come_back(name in "\\PC*|[ -~\\n\\t\\r]*") {
            let text = quoted(&name).into_owned();
            let (word, rest) = word(without_comment(text.as_bytes()), Until::Comma).unwrap();
            prop_assert_eq!((&*word, rest), (name.as_bytes(), &b""[..]));
        }
    }
}
