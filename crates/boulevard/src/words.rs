//! Numbers and names as text: short ones for people, C's `%g` for LIBSVM's lines.

/// `value` with `digits` significant digits as C's `%.{digits}g` writes it.
pub fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".into()
        } else if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("`e` format has an exponent");
    let exponent: i32 = exponent.parse().expect("a small number");
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    trim(&format!("{value:.*}", (digits as i32 - 1 - exponent) as usize)).to_owned()
}

fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// C's `%g`.
pub fn g(value: f64) -> String {
    general(value, 6)
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A time for people.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.00095 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Up to five names in backquotes.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 5;
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// So many things: `1 rule`, `2 rules`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A part of the rows, as it follows a count.
pub fn share(part: usize, whole: usize) -> String {
    if whole == 0 { String::new() } else { format!(", {:.1} % of the rows", 100.0 * part as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_are_those_of_c() {
        for (value, text) in [
            (99.5, "99.5"),
            (100.0, "100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1234567.0, "1.23457e+06"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (999999.5, "1e+06"),
            (0.0, "0"),
        ] {
            assert_eq!(g(value), text);
        }
        assert_eq!(general(0.1, 17), "0.10000000000000001");
        assert_eq!(general(1.0, 17), "1");
    }
}
