//! Decimal numbers from bytes and back, to the last bit.

use std::io::{self, Write};

/// The finite decimal at the start of `bytes`, correctly rounded, and how many bytes it takes. The caller looks at the byte that follows,
/// and asks [`parse`] if it does not end the number.
#[inline]
pub(crate) fn scan(bytes: &[u8]) -> Option<(f64, usize)> {
    fast_float2::parse_partial(bytes).ok().filter(|(value, _): &(f64, usize)| value.is_finite())
}

/// A number in any form `str::parse::<f64>` knows (so also `nan` and `inf`: look at the result), or `None`.
#[inline]
pub(crate) fn parse(bytes: &[u8]) -> Option<f64> {
    fast_float2::parse(bytes).ok()
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
        for text in
            ["inf", "-Infinity", "+inf", "iNF", "infinit", "+nan", "-NaN", "nano", "1_000", "1f", "1e+", "1e5.0", "e5", ".e1", "\u{663}"]
        {
            let (own, standard) = (parse(text.as_bytes()), text.parse::<f64>().ok());
            let same = own.is_some_and(f64::is_nan) && standard.is_some_and(f64::is_nan) || own == standard;
            assert!(same, "{text}: {own:?}, {standard:?}");
        }
        assert_eq!([scan(b"1.5 2"), scan(b"1e400"), scan(b"nan"), scan(b"x")], [Some((1.5, 3)), None, None, None]);
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
