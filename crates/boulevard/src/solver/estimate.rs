//! What a large fit will take, said before it begins.
//!
//! Memory is known; time is a guess between two bounds. From first set to certificate a blocked fit computes between half and three
//! times the square of the rows in kernel values: half at a small C, three times at a large one (larger still at a C in the hundreds).

use std::fmt;

/// Kernel values per squared row, few and many.
const VALUES: [f64; 2] = [0.5, 3.0];
/// Seconds of one thread per kernel value and dimension, with panels of 64 lanes; and what a value costs beside its features, in features.
const PER_DIMENSION: f64 = 1.2e-11;
const BESIDES: f64 = 20.0;
/// Shorter fits are not worth a word.
const WORTH_SAYING: f64 = 15.0;

/// Bytes and seconds of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub rows: usize,
    pub dimensions: usize,
    /// Of the table in single precision.
    pub table: usize,
    /// All that the fit holds at once.
    pub bytes: usize,
    pub threads: usize,
    /// At least and at most, about.
    pub seconds: [f64; 2],
}

impl Estimate {
    pub(super) fn new(rows: usize, dimensions: usize, bytes: usize, threads: usize, lanes: usize) -> Self {
        let value = PER_DIMENSION * (dimensions as f64 + BESIDES) * 64.0 / lanes as f64 / threads as f64;
        let table = rows.saturating_mul(dimensions).saturating_mul(size_of::<f32>());
        Self { rows, dimensions, table, bytes, threads, seconds: VALUES.map(|values| values * (rows as f64).powi(2) * value) }
    }

    pub(super) fn is_worth_saying(&self) -> bool {
        self.seconds[1] >= WORTH_SAYING
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, dimensions, table, bytes, threads, seconds: [least, most] } = self;
        let megabytes = |bytes: usize| bytes.div_ceil(1_000_000);
        let (unit, length) = match *most {
            most if most < 120.0 => ("seconds", 1.0),
            most if most < 7200.0 => ("minutes", 60.0),
            _ => ("hours", 3600.0),
        };
        let (least, most) = ((least / length).round().max(1.0), (most / length).round().max(2.0));
        write!(f, "{rows} rows x {dimensions}: {} MB for the table, {} MB in all, ", megabytes(*table), megabytes(*bytes))?;
        write!(f, "about {least} to {most} {unit} on {threads} thread{}", if *threads == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_said_in_units_that_people_use() {
        let million = Estimate::new(1_000_000, 54, 700_000_000, 2, 64);
        assert_eq!(million.to_string(), "1000000 rows x 54: 216 MB for the table, 700 MB in all, about 4 to 22 minutes on 2 threads");
        assert!(million.is_worth_saying());
        let small = Estimate::new(20_000, 20, 5_000_000, 1, 64);
        assert!(small.to_string().ends_with("about 1 to 2 seconds on 1 thread") && !small.is_worth_saying(), "{small}");
    }
}
