//! Numbers and rows as bytes: little endian, counts before what they count, every read checked.

use std::collections::HashMap;

use crate::data::{Csr, Matrix};
use crate::error::{Error, Result};

/// Writes a message.
#[derive(Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, values: &[u8]) {
        self.u64(values.len() as u64);
        self.0.extend_from_slice(values);
    }

    pub(super) fn ids(&mut self, values: &[u32]) {
        self.u64(values.len() as u64);
        self.0.reserve(4 * values.len());
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Few different values (labels, bounds, prices) go as a table and one byte each.
    pub(super) fn reals(&mut self, values: &[f64]) {
        let mut codes: HashMap<u64, u8> = HashMap::new();
        let mut table = Vec::new();
        let coded: Option<Vec<u8>> = values
            .iter()
            .map(|value| match codes.get(&value.to_bits()) {
                Some(code) => Some(*code),
                None => {
                    let code = u8::try_from(table.len()).ok()?;
                    codes.insert(value.to_bits(), code);
                    table.push(*value);
                    Some(code)
                }
            })
            .collect();
        match coded {
            Some(coded) if values.len() > 16 => {
                self.u8(1);
                self.u64(table.len() as u64);
                table.iter().for_each(|value| self.f64(*value));
                self.bytes(&coded);
            }
            _ => {
                self.u8(0);
                self.u64(values.len() as u64);
                self.0.reserve(8 * values.len());
                values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
            }
        }
    }

    /// Values that are the same in single precision go in it.
    fn values(&mut self, values: &[f64]) {
        let short = values.iter().all(|&value| f64::from(value as f32) == value);
        self.u8(u8::from(short));
        self.u64(values.len() as u64);
        for &value in values {
            if short {
                self.0.extend_from_slice(&(value as f32).to_le_bytes());
            } else {
                self.0.extend_from_slice(&value.to_le_bytes());
            }
        }
    }

    pub(super) fn rows(&mut self, rows: &Matrix<'_>) {
        let kind = match rows {
            Matrix::F64(_) => 0,
            Matrix::F32(_) => 1,
            Matrix::Sparse(_) => 2,
        };
        self.u8(kind);
        self.u64(rows.rows() as u64);
        self.u64(rows.columns() as u64);
        match rows {
            Matrix::F64(dense) => self.values(dense.values()),
            Matrix::F32(dense) => dense.values().iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes())),
            Matrix::Sparse(csr) => {
                self.ids(&csr.offsets().iter().map(|&offset| offset as u32).collect::<Vec<_>>());
                self.ids(csr.indices());
                self.values(csr.values());
            }
        }
    }
}

/// Reads a message.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.0.len() {
            return Err(Error::data(format!("a message between shards ends {} bytes too early", count - self.0.len())));
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        Ok(self.u8()? != 0)
    }

    /// A count of things of so many bytes each, which must still be there.
    fn count(&mut self, size: usize) -> Result<usize> {
        let count = self.u64()?;
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size.max(1)));
        match bytes {
            Some(bytes) if size == 0 || bytes <= self.0.len() => Ok(count as usize),
            _ => Err(Error::data(format!("a message between shards announces {count} numbers and holds {} bytes", self.0.len()))),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.count(1)?;
        self.take(count)
    }

    pub(super) fn ids(&mut self) -> Result<Vec<u32>> {
        let count = self.count(4)?;
        Ok(self.take(4 * count)?.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    fn doubles(&mut self, count: usize) -> Result<Vec<f64>> {
        Ok(self.take(8 * count)?.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    fn singles(&mut self, count: usize) -> Result<impl Iterator<Item = f32> + use<'a>> {
        Ok(self.take(4 * count)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)))
    }

    pub(super) fn reals(&mut self) -> Result<Vec<f64>> {
        if self.u8()? == 0 {
            let count = self.count(8)?;
            return self.doubles(count);
        }
        let count = self.count(8)?;
        let table = self.doubles(count)?;
        let unknown = || Error::data("a message between shards names a value that is not in its table");
        self.bytes()?.iter().map(|&code| table.get(usize::from(code)).copied().ok_or_else(unknown)).collect()
    }

    fn values(&mut self) -> Result<Vec<f64>> {
        if self.flag()? {
            let count = self.count(4)?;
            return Ok(self.singles(count)?.map(f64::from).collect());
        }
        let count = self.count(8)?;
        self.doubles(count)
    }

    pub(super) fn rows(&mut self) -> Result<Matrix<'static>> {
        let (kind, rows, columns) = (self.u8()?, self.count(0)?, self.count(0)?);
        match kind {
            0 => Matrix::dense(self.values()?, rows, columns),
            1 => {
                let count = rows.checked_mul(columns).filter(|&count| count <= self.0.len() / 4);
                let count = count.ok_or_else(|| Error::data(format!("{rows} x {columns} values are announced and not there")))?;
                Matrix::dense_f32(self.singles(count)?.collect::<Vec<f32>>(), rows, columns)
            }
            2 => {
                let offsets: Vec<usize> = self.ids()?.into_iter().map(|id| id as usize).collect();
                Csr::new(offsets, self.ids()?, self.values()?, columns).map(Matrix::Sparse)
            }
            other => Err(Error::data(format!("a message between shards holds rows of an unknown kind ({other})"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_rows_come_back_and_cut_messages_are_refused() {
        let many: Vec<f64> = (0..600).map(|i| f64::from(i) * 0.1).collect();
        let few: Vec<f64> = (0..600).map(|i| f64::from(i % 3) - 1.0).collect();
        let dense = Matrix::dense(many.clone(), 200, 3).unwrap();
        let short = Matrix::dense(few.clone(), 200, 3).unwrap();
        let single = Matrix::dense_f32(vec![0.1f32; 6], 2, 3).unwrap();
        let sparse = short.to_sparse();
        let mut writer = Writer::default();
        writer.u8(7);
        writer.u32(8);
        writer.u64(9);
        writer.f64(-0.5);
        writer.ids(&[1, 2, 3]);
        writer.reals(&many);
        let before = writer.0.len();
        writer.reals(&few);
        assert!(writer.0.len() - before < 700, "three values and a byte each");
        [&dense, &short, &single, &sparse].iter().for_each(|rows| writer.rows(rows));
        let read = |bytes: &[u8]| -> Result<()> {
            let mut reader = Reader(bytes);
            assert_eq!((reader.u8()?, reader.u32()?, reader.u64()?, reader.f64()?), (7, 8, 9, -0.5));
            assert_eq!(reader.ids()?, [1, 2, 3]);
            assert_eq!(reader.reals()?, many);
            assert_eq!(reader.reals()?, few);
            for rows in [&dense, &short, &single, &sparse] {
                assert_eq!(&reader.rows()?, rows);
            }
            assert!(reader.0.is_empty());
            Ok(())
        };
        read(&writer.0).unwrap();
        for cut in (0..writer.0.len()).step_by(37) {
            assert!(read(&writer.0[..cut]).is_err(), "cut at {cut}");
        }
    }
}
