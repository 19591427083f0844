//! What the driver asks shards and what they answer.

use super::wire::{Reader, Writer};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::solver::blocks::engine::{Candidate, Drift, Extremes};
use crate::solver::blocks::select::Offer;

/// Version of the messages between driver and shards; both must have the same.
pub const VERSION: u8 = 1;
/// First byte of every message.
const MARK: u8 = 0xB5;

/// Rows with their numbers in the whole table.
#[derive(Debug, PartialEq)]
pub(super) struct Features {
    pub ids: Vec<u32>,
    pub rows: Option<Matrix<'static>>,
}

impl Features {
    pub(super) fn none() -> Self {
        Self { ids: Vec::new(), rows: None }
    }
}

/// Which rows stay active, of one shard.
#[derive(Debug, PartialEq)]
pub(super) enum Stay {
    /// These.
    To { ids: Vec<u32> },
    /// These and those that are not settled.
    Unsettled { extremes: [Extremes; 2], margin: f64, kept: Vec<u32> },
}

/// Which gradients are computed anew.
#[derive(Debug, PartialEq)]
pub(super) enum Anew {
    Active,
    Near { extremes: [Extremes; 2], slack: f64 },
}

/// From the driver.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    /// The kernel, as JSON, and which rows of the whole table these are: runs of a first number and a length.
    Open { kernel: String, runs: Vec<(u32, u32)> },
    /// Weighted count, mean and sum of squared deviations of all values; the rows' weights, or none.
    Moments { weights: Vec<f64> },
    /// A problem: which rows take part (all if empty), their linear terms, gradients (if not the linear terms) and statuses.
    Load { rows: Vec<u32>, linear: Vec<f64>, gradient: Vec<f64>, status: Vec<u8>, kink: f64, double: bool, exempt: bool },
    /// Moves, then the next candidates.
    Step {
        features: Features,
        ids: Vec<u32>,
        steps: Vec<f64>,
        status: Vec<u8>,
        count: u32,
        /// Extremes of the last round over all shards: what violates nothing there need not be offered.
        hint: [Extremes; 2],
        kept: Vec<u32>,
    },
    /// The features of these rows.
    Features { ids: Vec<u32> },
    /// How many rows would stay active; with `apply` the others are parked.
    Narrow { stay: Stay, apply: bool },
    /// All rows active again, after these moves since the first were parked.
    Widen { ids: Vec<u32>, steps: Vec<f64> },
    /// Gradients in double precision from these coefficients.
    Recheck { ids: Vec<u32>, steps: Vec<f64>, anew: Anew },
    /// The gradients of all rows that take part.
    Gradient,
}

/// From a shard, after the seconds it took.
#[derive(Debug)]
pub(super) enum Reply {
    /// Rows, columns, the error of kernel values in single precision, and the relative error of sums.
    Opened {
        rows: u64,
        columns: u64,
        accuracy: f64,
        rounding: f64,
    },
    Moments {
        count: f64,
        mean: f64,
        squares: f64,
    },
    Done,
    Offer {
        offer: Offer,
        kept: Vec<f64>,
        features: Features,
    },
    Features {
        features: Features,
    },
    Count {
        count: u64,
    },
    Drift {
        drift: Drift,
    },
    Gradient {
        values: Vec<f64>,
    },
    /// It cannot be done, and why.
    Failed {
        why: String,
    },
    /// The device that was asked for cannot be used, and why.
    Refused {
        device: String,
        reason: String,
    },
}

/// A part of a message, in both directions.
trait Part: Sized {
    fn write(&self, to: &mut Writer);
    fn read(from: &mut Reader<'_>) -> Result<Self>;
}

/// Parts that the wire knows.
macro_rules! plain_parts {
    ($($kind:ty: |$value:ident, $to:ident| $write:expr, |$from:ident| $read:expr;)*) => {$(
        impl Part for $kind {
            fn write(&self, $to: &mut Writer) {
                let $value = self;
                $write;
            }

            fn read($from: &mut Reader<'_>) -> Result<Self> {
                $read
            }
        }
    )*};
}

/// Structures: their fields in this order.
macro_rules! structures {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Part for $name {
            fn write(&self, to: &mut Writer) {
                $(self.$field.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self { $($field: Part::read(from)?),* })
            }
        }
    )*};
}

/// Alternatives: the number of the kind, then its fields in this order.
macro_rules! alternatives {
    ($($name:ident { $($number:literal: $kind:ident { $($field:ident),* })* })*) => {$(
        impl Part for $name {
            fn write(&self, to: &mut Writer) {
                match self {
                    $(Self::$kind { $($field),* } => {
                        to.u8($number);
                        $($field.write(to);)*
                    })*
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                match from.u8()? {
                    $($number => Ok(Self::$kind { $($field: Part::read(from)?),* }),)*
                    other => Err(Error::data(format!("a message between shards of an unknown kind ({other})"))),
                }
            }
        }
    )*};
}

plain_parts! {
    bool: |flag, to| to.u8(u8::from(*flag)), |from| from.flag();
    u32: |value, to| to.u32(*value), |from| from.u32();
    u64: |value, to| to.u64(*value), |from| from.u64();
    usize: |value, to| to.u64(*value as u64), |from| Ok(from.u64()? as usize);
    f64: |value, to| to.f64(*value), |from| from.f64();
    String: |text, to| to.bytes(text.as_bytes()), |from| Ok(String::from_utf8_lossy(from.bytes()?).into_owned());
    Vec<u8>: |bytes, to| to.bytes(bytes), |from| Ok(from.bytes()?.to_vec());
    Vec<u32>: |ids, to| to.ids(ids), |from| from.ids();
    Vec<f64>: |values, to| to.reals(values), |from| from.reals();
    Vec<(u32, u32)>:
        |runs, to| to.ids(&runs.iter().flat_map(|(first, count)| [*first, *count]).collect::<Vec<_>>()),
        |from| Ok(from.ids()?.as_chunks::<2>().0.iter().map(|[first, count]| (*first, *count)).collect());
    Vec<Candidate>:
        |list, to| {
            to.u64(list.len() as u64);
            list.iter().for_each(|candidate| candidate.write(to));
        },
        |from| (0..from.u64()?).map(|_| Part::read(from)).collect();
}

structures! {
    Extremes { least_up, most_low }
    Candidate { id, slope, gradient }
    Offer { extremes, up, low }
    Drift { largest, rows }
}

alternatives! {
    Stay { 0: To { ids } 1: Unsettled { extremes, margin, kept } }
    Anew { 0: Active {} 1: Near { extremes, slack } }
    Request {
        0: Open { kernel, runs }
        1: Moments { weights }
        2: Load { rows, linear, gradient, status, kink, double, exempt }
        3: Step { features, ids, steps, status, count, hint, kept }
        4: Features { ids }
        5: Narrow { apply, stay }
        6: Widen { ids, steps }
        7: Recheck { ids, steps, anew }
        8: Gradient {}
    }
    Reply {
        0: Opened { rows, columns, accuracy, rounding }
        1: Moments { count, mean, squares }
        2: Done {}
        3: Offer { offer, kept, features }
        4: Features { features }
        5: Count { count }
        6: Drift { drift }
        7: Gradient { values }
        8: Failed { why }
        9: Refused { device, reason }
    }
}

/// One for each group.
impl<T: Part> Part for [T; 2] {
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|part| part.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok([T::read(from)?, T::read(from)?])
    }
}

/// Without numbers there are no rows to write.
impl Part for Features {
    fn write(&self, to: &mut Writer) {
        to.ids(&self.ids);
        if let Some(rows) = &self.rows {
            to.rows(rows);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let ids = from.ids()?;
        let rows = if ids.is_empty() { None } else { Some(from.rows()?) };
        Ok(Self { ids, rows })
    }
}

/// Checks the first bytes.
fn begin<'a>(bytes: &'a [u8], who: &str) -> Result<Reader<'a>> {
    let mut reader = Reader(bytes);
    let (mark, version) = (reader.u8()?, reader.u8()?);
    if mark != MARK {
        return Err(Error::data("this is not a message between shards"));
    }
    if version != VERSION {
        return Err(Error::data(format!(
            "{who} speaks version {version} of the messages between shards, and here it is version {VERSION}: install the same version of \
             boulevard everywhere"
        )));
    }
    Ok(reader)
}

impl Request {
    /// Rows to keep, and nothing else.
    pub(super) fn keep(features: Features) -> Self {
        let (ids, steps, status, kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self::Step { features, ids, steps, status, count: 0, hint: [Extremes::NONE; 2], kept }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer(vec![MARK, VERSION]);
        self.write(&mut to);
        to.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(&mut begin(bytes, "the driver")?)
    }
}

impl Reply {
    pub(super) fn to_bytes(&self, seconds: f64) -> Vec<u8> {
        let mut to = Writer(vec![MARK, VERSION]);
        to.f64(seconds);
        self.write(&mut to);
        to.0
    }

    /// With the seconds the shard took.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<(Self, f64)> {
        let mut from = begin(bytes, "a worker")?;
        let seconds = from.f64()?;
        Ok((Self::read(&mut from)?, seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_as_they_were_and_other_versions_are_refused() {
        let extremes = [Extremes { least_up: -1.0, most_low: 0.5 }, Extremes::NONE];
        let rows = Matrix::dense(vec![1.0, 2.0, 3.0, 4.0], 2, 2).unwrap();
        let ids = || vec![3, 1, 4];
        let requests = [
            Request::Open { kernel: "{}".to_owned(), runs: vec![(0, 5), (9, 2)] },
            Request::Moments { weights: vec![1.0, 2.5] },
            Request::Load {
                rows: ids(),
                linear: vec![1.0, -1.0, 1.0],
                gradient: Vec::new(),
                status: vec![1, 2, 3],
                kink: 0.1,
                double: true,
                exempt: false,
            },
            Request::Step {
                features: Features { ids: vec![8, 9], rows: Some(rows) },
                ids: ids(),
                steps: vec![0.5, -0.5, 0.1],
                status: vec![1, 2, 3],
                count: 7,
                hint: extremes,
                kept: vec![1],
            },
            Request::Features { ids: ids() },
            Request::Narrow { stay: Stay::To { ids: ids() }, apply: true },
            Request::Narrow { stay: Stay::Unsettled { extremes, margin: 0.2, kept: ids() }, apply: false },
            Request::Widen { ids: ids(), steps: vec![1.0, 2.0, 3.0] },
            Request::Recheck { ids: ids(), steps: vec![1.0, 2.0, 3.0], anew: Anew::Near { extremes, slack: 0.1 } },
            Request::Recheck { ids: ids(), steps: vec![1.0, 2.0, 3.0], anew: Anew::Active },
            Request::Gradient,
        ];
        for request in requests {
            let bytes = request.to_bytes();
            assert_eq!(Request::from_bytes(&bytes).unwrap(), request);
            assert!(Request::from_bytes(&bytes[..bytes.len() - 1]).is_err() || bytes.len() == 3);
        }
        let mut other = Request::Gradient.to_bytes();
        other[1] = VERSION + 1;
        let error = Request::from_bytes(&other).unwrap_err().to_string();
        assert!(error.contains("version 2") && error.contains("version 1"), "{error}");
        assert!(Request::from_bytes(b"hello").is_err());
        assert!(Reply::from_bytes(&[]).is_err());
    }
}
