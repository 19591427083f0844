//! Decimal numbers from bytes and back, to the last bit.

use std::io::{self, Write};

/// Powers of ten that `f64` holds exactly.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// Mantissas up to here are exact in `f64`.
const EXACT: u64 = 1 << 53;

/// The plain decimal `[+-]digits[.digits]` at the start of `bytes` and how many bytes it takes.
///
/// `None` when it is anything else or too long to be exact: a mantissa up to 2^53 divided by a power of ten up to 10^22 is one correctly
/// rounded operation on exact operands (Clinger's fast path), so that what is returned equals `str::parse`. The caller looks at the byte
/// that follows, and falls back to [`parse`] if it does not end the number (an exponent, say).
#[inline]
pub(crate) fn scan_plain(bytes: &[u8]) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = match bytes.first() {
        Some(b'-') => {
            at = 1;
            true
        }
        Some(b'+') => {
            at = 1;
            false
        }
        _ => false,
    };
    let mut mantissa = 0u64;
    let start = at;
    while let Some(digit) = digit(bytes, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut digits = at - start;
    let mut scale = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        while let Some(digit) = digit(bytes, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        scale = at - point;
        digits += scale;
    }
    // 19 digits cannot wrap around; the bound on the mantissa is then honest.
    if digits == 0 || digits > 19 || mantissa > EXACT {
        return None;
    }
    let value = mantissa as f64 / POWERS[scale];
    Some((if negative { -value } else { value }, at))
}

#[inline]
fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10).map(u64::from)
}

/// A number in any form `str::parse::<f64>` knows (so also `nan` and `inf`: look at the result), or `None`.
#[inline]
pub(crate) fn parse(bytes: &[u8]) -> Option<f64> {
    match scan_plain(bytes) {
        Some((value, length)) if length == bytes.len() => Some(value),
        _ => std::str::from_utf8(bytes).ok()?.parse().ok(),
    }
}

/// The shortest text that reads back to the same bits. Very large and very small numbers get an exponent.
pub(crate) fn write(out: &mut (impl Write + ?Sized), value: f64) -> io::Result<()> {
    let size = value.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) { write!(out, "{value}") } else { write!(out, "{value:e}") }
}

/// [`write()`] into a string.
pub(crate) fn text(value: f64) -> String {
    let mut out = Vec::new();
    write(&mut out, value).expect("a vector takes any bytes");
    String::from_utf8(out).expect("digits are UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_forms() {
        for text in
            ["1.", ".5", "+1", "-0", "00012.500", "1e5", "1E-400", "9007199254740993", "0.30000000000000004", "123456789012345678901"]
        {
            assert_eq!(parse(text.as_bytes()).map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits), "{text}");
        }
        for text in ["", "+", "-", ".", "1,5", "0x10", "1 ", "--1", "1e", "one"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert!(parse(b"nan").unwrap().is_nan());
        assert_eq!(parse(&[0xff, 0xfe]), None);
        assert_eq!(text(1e300), "1e300");
        assert_eq!(text(0.1), "0.1");
    }

    proptest! {
        #[test]
        fn decimals_equal_the_standard_parser(text in "[+-]?[0-9]{0,21}(\\.[0-9]{0,24})?(e[+-]?[0-9]{1,3})?") {
            prop_assert_eq!(parse(text.as_bytes()).map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn written_numbers_come_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(parse(text(value).as_bytes()).map(f64::to_bits), Some(bits));
            }
        }
    }
}
