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

/// Which rows stay active, of one shard.
#[derive(Debug, PartialEq)]
pub(super) enum Stay {
    /// These.
    To(Vec<u32>),
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
    Features(Features),
    Count(u64),
    Drift(Drift),
    Gradient(Vec<f64>),
    /// It cannot be done, and why.
    Failed(String),
    /// The device that was asked for cannot be used, and why.
    Refused {
        device: String,
        reason: String,
    },
}

fn write_extremes(to: &mut Writer, extremes: &[Extremes; 2]) {
    for of_group in extremes {
        to.f64(of_group.least_up);
        to.f64(of_group.most_low);
    }
}

fn read_extremes(from: &mut Reader<'_>) -> Result<[Extremes; 2]> {
    let mut one = || Ok(Extremes { least_up: from.f64()?, most_low: from.f64()? });
    Ok([one()?, one()?])
}

fn write_list(to: &mut Writer, list: &[Candidate]) {
    to.u64(list.len() as u64);
    for candidate in list {
        to.u32(candidate.id);
        to.f64(candidate.slope);
        to.f64(candidate.gradient);
    }
}

fn read_list(from: &mut Reader<'_>) -> Result<Vec<Candidate>> {
    let count = from.u64()?;
    (0..count).map(|_| Ok(Candidate { id: from.u32()?, slope: from.f64()?, gradient: from.f64()? })).collect()
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

fn unknown(kind: u8) -> Error {
    Error::data(format!("a message between shards of an unknown kind ({kind})"))
}

impl Request {
    /// Rows to keep, and nothing else.
    pub(super) fn keep(features: Features) -> Self {
        let (ids, steps, status, kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self::Step { features, ids, steps, status, count: 0, hint: [Extremes::NONE; 2], kept }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer(vec![MARK, VERSION]);
        match self {
            Self::Open { kernel, runs } => {
                to.u8(0);
                to.bytes(kernel.as_bytes());
                to.ids(&runs.iter().flat_map(|(first, count)| [*first, *count]).collect::<Vec<_>>());
            }
            Self::Moments { weights } => {
                to.u8(1);
                to.reals(weights);
            }
            Self::Load { rows, linear, gradient, status, kink, double, exempt } => {
                to.u8(2);
                to.ids(rows);
                to.reals(linear);
                to.reals(gradient);
                to.bytes(status);
                to.f64(*kink);
                to.u8(u8::from(*double));
                to.u8(u8::from(*exempt));
            }
            Self::Step { features, ids, steps, status, count, hint, kept } => {
                to.u8(3);
                features.write(&mut to);
                to.ids(ids);
                to.reals(steps);
                to.bytes(status);
                to.u32(*count);
                write_extremes(&mut to, hint);
                to.ids(kept);
            }
            Self::Features { ids } => {
                to.u8(4);
                to.ids(ids);
            }
            Self::Narrow { stay, apply } => {
                to.u8(5);
                to.u8(u8::from(*apply));
                match stay {
                    Stay::To(ids) => {
                        to.u8(0);
                        to.ids(ids);
                    }
                    Stay::Unsettled { extremes, margin, kept } => {
                        to.u8(1);
                        write_extremes(&mut to, extremes);
                        to.f64(*margin);
                        to.ids(kept);
                    }
                }
            }
            Self::Widen { ids, steps } => {
                to.u8(6);
                to.ids(ids);
                to.reals(steps);
            }
            Self::Recheck { ids, steps, anew } => {
                to.u8(7);
                to.ids(ids);
                to.reals(steps);
                match anew {
                    Anew::Active => to.u8(0),
                    Anew::Near { extremes, slack } => {
                        to.u8(1);
                        write_extremes(&mut to, extremes);
                        to.f64(*slack);
                    }
                }
            }
            Self::Gradient => to.u8(8),
        }
        to.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = begin(bytes, "the driver")?;
        Ok(match from.u8()? {
            0 => {
                let kernel = String::from_utf8_lossy(from.bytes()?).into_owned();
                let runs = from.ids()?.as_chunks::<2>().0.iter().map(|[first, count]| (*first, *count)).collect();
                Self::Open { kernel, runs }
            }
            1 => Self::Moments { weights: from.reals()? },
            2 => Self::Load {
                rows: from.ids()?,
                linear: from.reals()?,
                gradient: from.reals()?,
                status: from.bytes()?.to_vec(),
                kink: from.f64()?,
                double: from.flag()?,
                exempt: from.flag()?,
            },
            3 => Self::Step {
                features: Features::read(&mut from)?,
                ids: from.ids()?,
                steps: from.reals()?,
                status: from.bytes()?.to_vec(),
                count: from.u32()?,
                hint: read_extremes(&mut from)?,
                kept: from.ids()?,
            },
            4 => Self::Features { ids: from.ids()? },
            5 => {
                let apply = from.flag()?;
                let stay = match from.u8()? {
                    0 => Stay::To(from.ids()?),
                    _ => Stay::Unsettled { extremes: read_extremes(&mut from)?, margin: from.f64()?, kept: from.ids()? },
                };
                Self::Narrow { stay, apply }
            }
            6 => Self::Widen { ids: from.ids()?, steps: from.reals()? },
            7 => {
                let (ids, steps) = (from.ids()?, from.reals()?);
                let anew = match from.u8()? {
                    0 => Anew::Active,
                    _ => Anew::Near { extremes: read_extremes(&mut from)?, slack: from.f64()? },
                };
                Self::Recheck { ids, steps, anew }
            }
            8 => Self::Gradient,
            other => return Err(unknown(other)),
        })
    }
}

impl Reply {
    pub(super) fn to_bytes(&self, seconds: f64) -> Vec<u8> {
        let mut to = Writer(vec![MARK, VERSION]);
        to.f64(seconds);
        match self {
            Self::Opened { rows, columns, accuracy, rounding } => {
                to.u8(0);
                to.u64(*rows);
                to.u64(*columns);
                to.f64(*accuracy);
                to.f64(*rounding);
            }
            Self::Moments { count, mean, squares } => {
                to.u8(1);
                [count, mean, squares].into_iter().for_each(|value| to.f64(*value));
            }
            Self::Done => to.u8(2),
            Self::Offer { offer, kept, features } => {
                to.u8(3);
                write_extremes(&mut to, &offer.extremes);
                offer.up.iter().chain(&offer.low).for_each(|list| write_list(&mut to, list));
                to.reals(kept);
                features.write(&mut to);
            }
            Self::Features(features) => {
                to.u8(4);
                features.write(&mut to);
            }
            Self::Count(count) => {
                to.u8(5);
                to.u64(*count);
            }
            Self::Drift(drift) => {
                to.u8(6);
                to.f64(drift.largest);
                to.u64(drift.rows as u64);
            }
            Self::Gradient(values) => {
                to.u8(7);
                to.reals(values);
            }
            Self::Failed(why) => {
                to.u8(8);
                to.bytes(why.as_bytes());
            }
            Self::Refused { device, reason } => {
                to.u8(9);
                to.bytes(device.as_bytes());
                to.bytes(reason.as_bytes());
            }
        }
        to.0
    }

    /// With the seconds the shard took.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<(Self, f64)> {
        let mut from = begin(bytes, "a worker")?;
        let seconds = from.f64()?;
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let reply = match from.u8()? {
            0 => Self::Opened { rows: from.u64()?, columns: from.u64()?, accuracy: from.f64()?, rounding: from.f64()? },
            1 => Self::Moments { count: from.f64()?, mean: from.f64()?, squares: from.f64()? },
            2 => Self::Done,
            3 => {
                let extremes = read_extremes(&mut from)?;
                let mut list = || read_list(&mut from);
                let (up, low) = ([list()?, list()?], [list()?, list()?]);
                Self::Offer { offer: Offer { extremes, up, low }, kept: from.reals()?, features: Features::read(&mut from)? }
            }
            4 => Self::Features(Features::read(&mut from)?),
            5 => Self::Count(from.u64()?),
            6 => Self::Drift(Drift { largest: from.f64()?, rows: from.u64()? as usize }),
            7 => Self::Gradient(from.reals()?),
            8 => Self::Failed(words(from.bytes()?)),
            9 => Self::Refused { device: words(from.bytes()?), reason: words(from.bytes()?) },
            other => return Err(unknown(other)),
        };
        Ok((reply, seconds))
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
            Request::Narrow { stay: Stay::To(ids()), apply: true },
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
