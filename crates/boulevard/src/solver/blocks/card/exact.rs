//! Kernel values in double precision: the certificate, Newton's systems, and predictions that need it.

use boulevard_cuda::{Buffer, CudaError};

use super::partial::Sums;
use super::table::CardTable;

/// Rows and columns of a tile in double precision, and on tensor cores its threads and shared memory: three stages of two sides of 64 rows of
/// 20 numbers.
pub(super) const EXACT_TILE: usize = 64;
pub(super) const EXACT_THREADS: usize = 128;
pub(super) const EXACT_SHARED: usize = 3 * 2 * 64 * 20 * 8;

/// Rows in double precision.
pub(super) struct ExactRows {
    rows: Buffer<f64>,
    norms: Buffer<f64>,
    weights: Option<Buffer<f64>>,
    pub count: usize,
    width: usize,
}

impl CardTable {
    /// Whether double precision runs on tensor cores: every kernel but those of absolute differences.
    pub(super) fn exact_on_tensor_cores(&self) -> bool {
        self.card.has_tensor_cores() && self.kernel.tensor.is_some()
    }

    /// Names of the kernels for sums, matrices and rows beside them in double precision on tensor cores.
    fn exact_kernels(&self) -> (&'static str, &'static str, &'static str) {
        match self.kernel.double.formula.kind {
            0 => ("weigh_exact_exponential", "store_exact_exponential", "store_beside_exponential"),
            _ => ("weigh_exact_other", "store_exact_other", "store_beside_other"),
        }
    }

    /// The same in double precision for the rows with these numbers.
    pub(super) fn weigh_exactly(
        &self,
        ids: &Buffer<u32>,
        from: usize,
        count: usize,
        support: &ExactRows,
        sums: &mut Sums,
    ) -> Result<usize, CudaError> {
        let (formula, tiles) = (&self.kernel.double.formula, support.count.div_ceil(EXACT_TILE));
        let splits = sums.splits(&self.card, count, EXACT_TILE, tiles)?;
        let grid = count.div_ceil(EXACT_TILE);
        let weights = support.weights.as_ref().ok_or_else(|| CudaError::Call {
            kernel: "weigh_exact".to_owned(),
            found: "columns without weights".to_owned(),
            wanted: "weights".to_owned(),
        })?;
        if self.exact_on_tensor_cores() {
            let rows = self.exact_rows(ids, from, count, None)?;
            let launch = self.card.launch(self.exact_kernels().0).grid(grid, splits).threads(EXACT_THREADS).shared(EXACT_SHARED);
            let launch = launch.buffer(&rows.rows).buffer(&rows.norms).count(count).buffer(&support.rows).buffer(&support.norms);
            launch.buffer(weights).count(tiles).count(rows.width).formula(formula).buffer(&sums.values).run()?;
        } else {
            let launch = self.card.launch(self.kernel.double.weigh).grid(grid, splits);
            let launch = launch.buffer(&self.exact).part(ids, from).buffer(&self.norms).count(count);
            let launch = launch.buffer(&support.rows).buffer(&support.norms).buffer(weights).count(support.count);
            launch.count(self.columns).formula(formula).buffer(&sums.values).null().count(0).run()?;
        }
        Ok(splits)
    }

    /// Rows in double precision by their numbers, padded for tensor cores where these are used.
    pub(super) fn exact_rows(
        &self,
        ids: &Buffer<u32>,
        from: usize,
        count: usize,
        weights: Option<&Buffer<f64>>,
    ) -> Result<ExactRows, CudaError> {
        let tensor = self.exact_on_tensor_cores();
        let (padded, width) =
            if tensor { (count.next_multiple_of(EXACT_TILE), self.columns.next_multiple_of(8)) } else { (count, self.columns) };
        self.exact_padded(ids, from, count, padded, width, weights)
    }

    fn exact_padded(
        &self,
        ids: &Buffer<u32>,
        from: usize,
        count: usize,
        padded: usize,
        width: usize,
        weights: Option<&Buffer<f64>>,
    ) -> Result<ExactRows, CudaError> {
        let card = &self.card;
        let (rows, norms) = (card.allocate::<f64>(padded * width)?, card.allocate::<f64>(padded)?);
        let to_weights = weights.map(|_| card.allocate::<f64>(padded)).transpose()?;
        let launch = card.launch("gather_exact").items(padded * width).part(ids, from).count(count).count(padded);
        let launch = launch.count(self.columns).count(width).buffer(&self.exact).buffer(&self.norms);
        let launch = match weights {
            Some(weights) => launch.buffer(weights),
            None => launch.null(),
        };
        let launch = launch.buffer(&rows).buffer(&norms);
        match &to_weights {
            Some(weights) => launch.buffer(weights),
            None => launch.null(),
        }
        .run()?;
        Ok(ExactRows { rows, norms, weights: to_weights, count, width })
    }

    /// Support vectors with their coefficients, as columns in double precision.
    pub(super) fn exact_columns(&self, ids: &[u32], weights: &[f64]) -> Result<ExactRows, CudaError> {
        let (on_card, weights) = (self.card.upload(ids)?, self.card.upload(weights)?);
        self.exact_rows(&on_card, 0, ids.len(), Some(&weights))
    }

    /// The kernel matrix of rows in double precision, lower triangle, in the first of `stride` rows and columns; `ridge` on the diagonal,
    /// `outside` on that of the other rows.
    pub(super) fn store_exactly(
        &self,
        ids: &[u32],
        ridge: f64,
        outside: f64,
        matrix: &Buffer<f64>,
        stride: usize,
    ) -> Result<(), CudaError> {
        let on_card = self.card.upload(ids)?;
        let rows = self.exact_padded(&on_card, 0, ids.len(), stride, self.columns.next_multiple_of(8), None)?;
        let tiles = stride / EXACT_TILE;
        let launch = self.card.launch(self.exact_kernels().1).grid(tiles, tiles).threads(EXACT_THREADS).shared(EXACT_SHARED);
        let launch = launch.buffer(&rows.rows).buffer(&rows.norms).count(ids.len()).count(rows.width).formula(&self.kernel.double.formula);
        launch.number(ridge).number(outside).buffer(matrix).count(stride).run()
    }
    /// Kernel values of rows and the variables of a matrix, as rows of it from `at` on.
    pub(super) fn store_beside(
        &self,
        rows: &[u32],
        columns: &Buffer<u32>,
        column_count: usize,
        matrix: &Buffer<f64>,
        stride: usize,
        at: usize,
    ) -> Result<(), CudaError> {
        let (width, count) = (self.columns.next_multiple_of(8), rows.len());
        let rows = self.exact_padded(&self.card.upload(rows)?, 0, count, count.next_multiple_of(EXACT_TILE), width, None)?;
        let columns = self.exact_padded(columns, 0, column_count, stride, width, None)?;
        let launch = self.card.launch(self.exact_kernels().2).grid(stride / EXACT_TILE, count.div_ceil(EXACT_TILE));
        let launch = launch.threads(EXACT_THREADS).shared(EXACT_SHARED).buffer(&rows.rows).buffer(&rows.norms).count(count);
        let launch = launch.buffer(&columns.rows).buffer(&columns.norms).count(column_count).count(width);
        launch.formula(&self.kernel.double.formula).part(matrix, at * stride).count(stride).run()
    }
}
