//! Named flat arrays: what the tensors of a model file hold.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::{Error, Result};

/// Arrays on their way into a file. Sorted by name, so that the same model always makes the same bytes.
#[derive(Default)]
pub(super) struct ArrayWriter {
    pub(super) arrays: BTreeMap<String, Array>,
}

/// One array as bytes.
pub(super) struct Array {
    pub(super) kind: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl ArrayWriter {
    /// Adds double precision numbers.
    pub(super) fn put_f64(&mut self, name: String, shape: Vec<usize>, values: &[f64]) {
        self.put(name, Dtype::F64, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect());
    }

    /// Adds single precision numbers.
    pub(super) fn put_f32(&mut self, name: String, shape: Vec<usize>, values: &[f32]) {
        self.put(name, Dtype::F32, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect());
    }

    /// Adds counts or places.
    pub(super) fn put_usize(&mut self, name: String, values: &[usize]) {
        self.put(name, Dtype::U64, vec![values.len()], values.iter().flat_map(|&v| (v as u64).to_le_bytes()).collect());
    }

    /// Adds 32-bit numbers; files have 64 bits for them.
    pub(super) fn put_numbers(&mut self, name: String, values: &[u32]) {
        self.put(name, Dtype::U64, vec![values.len()], values.iter().flat_map(|&v| u64::from(v).to_le_bytes()).collect());
    }

    /// Adds bytes as they are.
    pub(super) fn put_bytes(&mut self, name: String, bytes: Vec<u8>) {
        self.put(name, Dtype::U8, vec![bytes.len()], bytes);
    }

    fn put(&mut self, name: String, kind: Dtype, shape: Vec<usize>, bytes: Vec<u8>) {
        let old = self.arrays.insert(name, Array { kind, shape, bytes });
        debug_assert!(old.is_none(), "two arrays of one name");
    }
}

/// Arrays of a file. Their sizes were checked against the file's when it was opened, so copies cannot be larger than the file.
pub(super) struct ArrayReader<'a> {
    tensors: SafeTensors<'a>,
}

impl<'a> ArrayReader<'a> {
    pub(super) fn new(tensors: SafeTensors<'a>) -> Self {
        Self { tensors }
    }

    /// Whether there is an array of this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    /// A table of double precision numbers and its shape.
    pub(super) fn table_f64(&self, name: &str) -> Result<(Vec<f64>, [usize; 2])> {
        let (tensor, shape) = self.table(name, Dtype::F64)?;
        Ok((numbers(tensor.data(), f64::from_le_bytes), shape))
    }

    /// A table of single precision numbers and its shape.
    pub(super) fn table_f32(&self, name: &str) -> Result<(Vec<f32>, [usize; 2])> {
        let (tensor, shape) = self.table(name, Dtype::F32)?;
        Ok((numbers(tensor.data(), f32::from_le_bytes), shape))
    }

    /// A list of double precision numbers.
    pub(super) fn list_f64(&self, name: &str) -> Result<Vec<f64>> {
        Ok(numbers(self.get(name, Dtype::F64, 1)?.data(), f64::from_le_bytes))
    }

    /// A list of counts or places.
    pub(super) fn list_usize(&self, name: &str) -> Result<Vec<usize>> {
        self.list(name, "this computer")
    }

    /// Whole numbers of at most 32 bits.
    pub(super) fn list_u32(&self, name: &str) -> Result<Vec<u32>> {
        self.list(name, "a column number")
    }

    fn list<T: TryFrom<u64>>(&self, name: &str, of: &str) -> Result<Vec<T>> {
        let values = numbers(self.get(name, Dtype::U64, 1)?.data(), u64::from_le_bytes);
        let fits = |v: u64| T::try_from(v).map_err(|_| Error::data(format!("array `{name}` holds {v}, which is too large for {of}")));
        values.into_iter().map(fits).collect()
    }

    /// Bytes as they are.
    pub(super) fn list_bytes(&self, name: &str) -> Result<&'a [u8]> {
        Ok(self.get(name, Dtype::U8, 1)?.data())
    }

    fn table(&self, name: &str, kind: Dtype) -> Result<(TensorView<'a>, [usize; 2])> {
        let tensor = self.get(name, kind, 2)?;
        let shape = [tensor.shape()[0], tensor.shape()[1]];
        Ok((tensor, shape))
    }

    fn get(&self, name: &str, kind: Dtype, dimensions: usize) -> Result<TensorView<'a>> {
        let tensor = self.tensors.tensor(name).map_err(|_| Error::data(format!("array `{name}` is missing")))?;
        if tensor.dtype() != kind || tensor.shape().len() != dimensions {
            let found = format!("{:?} with {} dimensions", tensor.dtype(), tensor.shape().len());
            return Err(Error::data(format!("array `{name}` must be {kind:?} with {dimensions} dimensions, found {found}")));
        }
        Ok(tensor)
    }
}

fn numbers<const N: usize, T>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|chunk| convert(chunk.try_into().expect("chunks have this size"))).collect()
}
