//! Flags that say how long, how large and how loud a run may be.

use std::time::Duration;

use boulevard::observe::{Context, Device, Observer};
use clap::Args;

/// Limits and loudness of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Threads to use (default: all); results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub threads: Option<u64>,
    /// Stop after this many seconds with what was found so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_time: Option<Duration>,
    /// Memory for kernel rows and work space, such as 500M or 2G
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory_limit: Option<usize>,
    /// Where kernel machines are fitted: auto, cpu, cuda or cuda:1 [default: auto]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// Say nothing while working
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// The library's context with these limits; the clock starts now.
    pub fn context<'a>(&self, observer: &'a dyn Observer) -> Context<'a> {
        let context =
            Context { memory: self.memory_limit, device: self.device.unwrap_or_default(), ..Context::default() }.with_observer(observer);
        let context = self.threads.map_or(context, |threads| context.with_threads(threads as usize));
        self.max_time.map_or(context, |limit| context.with_time_limit(limit))
    }
}

/// A time in seconds, above zero.
fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(value).ok().filter(|time| !time.is_zero()).ok_or_else(|| "the time must be above zero".to_owned())
}

/// A number of bytes with an optional k, M, G or T (powers of 1000).
fn bytes(text: &str) -> Result<usize, String> {
    let plain = text.trim_end_matches(['b', 'B']);
    let (digits, unit) = match plain.char_indices().last() {
        Some((at, letter)) if letter.is_ascii_alphabetic() => (&plain[..at], letter.to_ascii_lowercase()),
        _ => (plain, ' '),
    };
    let factor = match unit {
        ' ' => 1.0,
        'k' => 1e3,
        'm' => 1e6,
        'g' => 1e9,
        't' => 1e12,
        _ => return Err(format!("`{unit}` is not one of k, M, G, T")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a number of bytes, such as 500M"))?;
    let total = number * factor;
    match total {
        _ if total >= 1e18 => Err("the limit must be below 10^18 bytes (leave it out for none)".to_owned()),
        _ if total >= 1.0 => Ok(total as usize),
        _ => Err("the limit must be at least 1 byte".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("500M"), Ok(500_000_000));
        assert_eq!(bytes("2g"), Ok(2_000_000_000));
        assert_eq!(bytes("1.5kB"), Ok(1500));
        assert_eq!(bytes("77"), Ok(77));
        for bad in ["", "x", "M", "5q", "2é", "é", "-1", "0", "nan", "99999999999999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert!(seconds("0").is_err() && seconds("-1").is_err() && seconds("nan").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    }
}
