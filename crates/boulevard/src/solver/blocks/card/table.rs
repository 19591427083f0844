//! The table of one problem on the card: in double precision, and split into halves for tensor cores (or in single precision without).

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError, Formula};

use super::formula::CardKernel;
use super::partial::Sums;
use super::upload::{center, column_means, upload, upload_rows};
use crate::data::Matrix;
use crate::solver::source::TableView;

/// Features up to which rows stay in registers, and the widths that kernels exist for, in steps of 16.
const NARROW: [usize; 6] = [1, 2, 3, 4, 6, 8];
/// Largest absolute value of the split table: halves reach 65504, and what is below 6e-8 of it is lost.
const LARGEST: f64 = 256.0;
/// Rows of a block, and columns of a tile, on tensor cores and in plain arithmetic.
const NARROW_TILE: (usize, usize) = (128, 64);
const WIDE_TILE: (usize, usize) = (128, 128);
const PLAIN_TILE: (usize, usize) = (64, 64);
/// Shared memory of the wide kernel: three stages of four tables of 128 rows of 40 halves.
const WIDE_SHARED: usize = 3 * 4 * 128 * 40 * 2;
/// The same where four warps work as one: of 64 halves, and what it takes to begin at a whole multiple of 1024 bytes.
const GROUP_SHARED: usize = 3 * 4 * 128 * 64 * 2 + 1024;

/// Outputs whose sums there is shared memory for beside that.
const SEVERAL: usize = 16;

/// Halves have digits for values of about the same size: other rows may have values so many times as large as a table's own.
pub(super) const OUTSIDE: f64 = 8.0;

/// How sums are computed for this table.
#[derive(Clone, Copy)]
enum Way {
    Narrow { kernel: &'static str, width: usize, shared: usize },
    Wide { kernel: &'static str, width: usize },
    Plain,
}

impl Way {
    /// Halves per row; none without tensor cores.
    fn halves(self) -> usize {
        match self {
            Self::Narrow { width, .. } | Self::Wide { width, .. } => width,
            Self::Plain => 0,
        }
    }
}

/// What a table is multiplied by before it is split, a power of two: splitting loses nothing.
fn scale(largest: f64) -> f64 {
    if largest > 0.0 { (LARGEST / largest).log2().floor().exp2() } else { 1.0 }
}

/// The kernel's formula for the split table.
fn split_formula(kernel: &CardKernel, way: Way, largest: f64) -> Formula {
    let (mut formula, scale) = (kernel.tensor.unwrap_or(kernel.single.formula), scale(largest));
    if way.halves() > 0 {
        formula.factor /= scale * scale;
    }
    formula
}

/// Rows in the form that sums are computed from.
pub(super) enum Packed {
    Halves { high: Buffer<u16>, low: Buffer<u16>, norms: Buffer<f32> },
    Single(Buffer<f32>),
}

/// Columns and their weights, in the same form.
pub(super) struct Columns {
    pub packed: Packed,
    weights: Buffer<f64>,
    weights32: Option<Buffer<f32>>,
    pub count: usize,
}

pub(super) struct CardTable {
    pub card: Arc<Card>,
    pub kernel: CardKernel,
    pub rows: usize,
    pub columns: usize,
    way: Way,
    /// On tensor cores, for the split table.
    formula: Formula,
    /// What was taken off the columns, and the largest absolute value after that.
    means: Option<Arc<Buffer<f64>>>,
    largest: f64,
    pub exact: Arc<Buffer<f64>>,
    pub norms: Arc<Buffer<f64>>,
    pub all: Arc<Packed>,
}

impl CardTable {
    /// The same numbers for another kernel; none where it needs them in another form.
    pub(super) fn with_kernel(&self, kernel: CardKernel) -> Option<Self> {
        let way = choose(&self.card, &kernel, self.columns);
        let alike = kernel.centered == self.kernel.centered && way.halves() == self.way.halves();
        alike.then(|| Self {
            card: self.card.clone(),
            kernel,
            rows: self.rows,
            columns: self.columns,
            way,
            formula: split_formula(&kernel, way, self.largest),
            means: self.means.clone(),
            largest: self.largest,
            exact: self.exact.clone(),
            norms: self.norms.clone(),
            all: self.all.clone(),
        })
    }

    /// Bytes on the card for a table: all of it in both forms, and once more the rows that are active.
    pub(super) fn bytes(rows: usize, columns: usize) -> usize {
        const PER_ROW: usize = 160;
        const WORK: usize = 256 << 20;
        let width = columns.next_multiple_of(32);
        rows.saturating_mul(columns * 8 + 2 * width * 4 + PER_ROW).saturating_add(WORK)
    }

    pub(super) fn new(card: Arc<Card>, kernel: CardKernel, view: &TableView<'_>) -> Result<Self, CudaError> {
        card.enter()?;
        let (rows, columns) = (view.len(), view.x.columns());
        let mut exact = card.allocate::<f64>(rows * columns)?;
        upload(&mut exact, view)?;
        let way = choose(&card, &kernel, columns);
        Self::from_values(card, kernel, exact, rows, columns, way)
    }

    /// A table whose values can be stored, for many problems on it.
    pub(super) fn storable(card: Arc<Card>, kernel: CardKernel, view: &TableView<'_>) -> Result<Self, CudaError> {
        card.enter()?;
        let (rows, columns) = (view.len(), view.x.columns());
        let mut exact = card.allocate::<f64>(rows * columns)?;
        upload(&mut exact, view)?;
        let way = choose_wide(&card, &kernel, columns);
        Self::from_values(card, kernel, exact, rows, columns, way)
    }

    /// Rows of one table alone; whose values can be stored and summed for several outputs if `storable`.
    pub(super) fn of_rows(card: Arc<Card>, kernel: CardKernel, x: &Matrix<'_>, storable: bool) -> Result<Self, CudaError> {
        card.enter()?;
        let (rows, columns) = (x.rows(), x.columns());
        let mut exact = card.allocate::<f64>(rows * columns)?;
        upload_rows(&mut exact, 0, x, 0..rows)?;
        let way = if storable { choose_wide(&card, &kernel, columns) } else { choose(&card, &kernel, columns) };
        Self::from_values(card, kernel, exact, rows, columns, way)
    }

    /// Some rows of another table, centered and split like these, so that sums over the ones are sums for the others; and whether their
    /// values are small enough for halves.
    pub(super) fn beside(&self, x: &Matrix<'_>, rows: std::ops::Range<usize>) -> Result<(Self, bool), CudaError> {
        let (count, columns) = (rows.len(), self.columns);
        let mut exact = self.card.allocate::<f64>(count * columns)?;
        upload_rows(&mut exact, 0, x, rows)?;
        let largest = center(&self.card, &mut exact, count, columns, self.means.as_deref())?;
        let near = largest <= OUTSIDE * self.largest;
        let beside = Self::split(self.card.clone(), self.kernel, exact, count, columns, self.way, self.means.clone(), self.largest)?;
        Ok((beside, near))
    }

    fn from_values(
        card: Arc<Card>,
        kernel: CardKernel,
        mut exact: Buffer<f64>,
        rows: usize,
        columns: usize,
        way: Way,
    ) -> Result<Self, CudaError> {
        let means = if kernel.centered { Some(Arc::new(column_means(&card, &exact, rows, columns)?)) } else { None };
        let largest = center(&card, &mut exact, rows, columns, means.as_deref())?;
        Self::split(card, kernel, exact, rows, columns, way, means, largest)
    }

    /// From values that are centered already; `largest` decides the scale of halves.
    fn split(
        card: Arc<Card>,
        kernel: CardKernel,
        exact: Buffer<f64>,
        rows: usize,
        columns: usize,
        way: Way,
        means: Option<Arc<Buffer<f64>>>,
        largest: f64,
    ) -> Result<Self, CudaError> {
        let norms = card.allocate::<f64>(rows)?;
        let (width, scale) = (way.halves(), scale(largest));
        let formula = split_formula(&kernel, way, largest);
        let all = if width > 0 {
            let (high, low) = (card.allocate::<u16>(rows * width)?, card.allocate::<u16>(rows * width)?);
            let norms32 = card.allocate::<f32>(rows)?;
            let launch = card.launch("split_rows").items(rows * 32).buffer(&exact).count(rows).count(columns).count(width).number(scale);
            launch.buffer(&high).buffer(&low).buffer(&norms).buffer(&norms32).run()?;
            Packed::Halves { high, low, norms: norms32 }
        } else {
            let single = card.allocate::<f32>(rows * columns)?;
            let launch = card.launch("plain_rows").items(rows * 32).buffer(&exact).count(rows).count(columns);
            launch.buffer(&single).buffer(&norms).run()?;
            Packed::Single(single)
        };
        card.synchronize()?;
        let (exact, norms, all) = (Arc::new(exact), Arc::new(norms), Arc::new(all));
        Ok(Self { card, kernel, rows, columns, way, formula, means, largest, exact, norms, all })
    }

    fn tile(&self) -> (usize, usize) {
        match self.way {
            Way::Narrow { .. } => NARROW_TILE,
            Way::Wide { .. } => WIDE_TILE,
            Way::Plain => PLAIN_TILE,
        }
    }

    fn wide_shared(&self) -> usize {
        if self.card.has_warpgroups() { GROUP_SHARED } else { WIDE_SHARED }
    }

    fn width(&self) -> usize {
        match self.way {
            Way::Narrow { width, .. } | Way::Wide { width, .. } => width,
            Way::Plain => self.columns,
        }
    }

    /// Columns of whole tiles.
    pub(super) fn padded(&self, count: usize) -> usize {
        count.next_multiple_of(self.tile().1)
    }

    /// Rows by their numbers, padded with zeros to `padded` of them.
    pub(super) fn gather(
        &self,
        ids: &Buffer<u32>,
        count: usize,
        padded: usize,
        weights: Option<(&Buffer<f64>, &Buffer<f32>)>,
    ) -> Result<Packed, CudaError> {
        let (card, width) = (&self.card, self.width());
        match &*self.all {
            Packed::Halves { high, low, norms } => {
                let (to_high, to_low) = (card.allocate::<u16>(padded * width)?, card.allocate::<u16>(padded * width)?);
                let to_norms = card.allocate::<f32>(padded)?;
                let launch = card.launch("gather_halves").items(padded * width / 8).buffer(ids).count(count).count(padded).count(width);
                let launch = launch.buffer(high).buffer(low).buffer(norms);
                let launch = match weights {
                    Some((weights, _)) => launch.buffer(weights),
                    None => launch.null(),
                };
                let launch = launch.buffer(&to_high).buffer(&to_low).buffer(&to_norms);
                let launch = match weights {
                    Some((_, weights32)) => launch.buffer(weights32),
                    None => launch.null(),
                };
                launch.run()?;
                Ok(Packed::Halves { high: to_high, low: to_low, norms: to_norms })
            }
            Packed::Single(_) => Ok(Packed::Single(self.gather_single(ids, count)?)),
        }
    }

    fn gather_single(&self, ids: &Buffer<u32>, count: usize) -> Result<Buffer<f32>, CudaError> {
        let (to, norms) = (self.card.allocate::<f32>(count * self.columns)?, self.card.allocate::<f32>(count)?);
        let launch = self.card.launch("gather_single").items(count * self.columns).buffer(ids).count(count).count(self.columns);
        launch.buffer(&self.exact).buffer(&self.norms).buffer(&to).buffer(&norms).run()?;
        Ok(to)
    }

    /// Rows that moved, with their steps, as columns of sums.
    pub(super) fn columns_of(&self, ids: &[u32], steps: &[f64]) -> Result<Columns, CudaError> {
        let (count, padded) = (ids.len(), self.padded(ids.len()));
        let (on_card, weights) = (self.card.upload(ids)?, self.card.upload(steps)?);
        let weights32 = match *self.all {
            Packed::Halves { .. } => Some(self.card.allocate::<f32>(padded)?),
            Packed::Single(_) => None,
        };
        let packed = self.gather(&on_card, count, padded, weights32.as_ref().map(|weights32| (&weights, weights32)))?;
        Ok(Columns { packed, weights, weights32, count })
    }

    /// `sums[split][row]` for `count` rows; answers how many splits there are. The cut depends on sizes and the card alone.
    pub(super) fn weigh(&self, rows: &Packed, count: usize, columns: &Columns, sums: &mut Sums) -> Result<usize, CudaError> {
        let (tile_rows, tile_columns) = self.tile();
        let tiles = columns.count.div_ceil(tile_columns);
        let splits = match self.way {
            Way::Wide { .. } => sums.even_splits(&self.card, count, tile_rows, tiles)?,
            _ => sums.splits(&self.card, count, tile_rows, tiles)?,
        };
        let grid = (count.div_ceil(tile_rows), splits);
        let launch = |kernel| self.card.launch(kernel).grid(grid.0, grid.1);
        match (rows, &columns.packed, &columns.weights32) {
            (
                Packed::Halves { high, low, norms },
                Packed::Halves { high: column_high, low: column_low, norms: column_norms },
                Some(weights),
            ) => {
                let (kernel, threads, shared, wide) = match self.way {
                    Way::Narrow { kernel, shared, .. } => (kernel, 128, shared, None),
                    Way::Wide { kernel, width } => (kernel, 256, self.wide_shared(), Some(width)),
                    Way::Plain => unreachable!("a table of halves is for tensor cores"),
                };
                let launch = launch(kernel).threads(threads).shared(shared).buffer(high).buffer(low).buffer(norms).count(count);
                let launch = launch.buffer(column_high).buffer(column_low).buffer(column_norms).buffer(weights).count(tiles);
                let launch = wide.into_iter().fold(launch, |launch, width| launch.count(width));
                launch.formula(&self.formula).buffer(&sums.values).run()?;
            }
            (Packed::Single(rows), Packed::Single(of_columns), _) => {
                let plain = &self.kernel.single;
                let launch = launch(plain.weigh).buffer(rows).null().null().count(count).buffer(of_columns).null().buffer(&columns.weights);
                let launch = launch.count(columns.count).count(self.columns).formula(&plain.formula);
                launch.buffer(&sums.values).null().count(0).run()?;
            }
            _ => unreachable!("rows and columns of one table have one form"),
        }
        Ok(splits)
    }

    /// Outputs that [`Self::weigh_several`] sums at once; none where it cannot.
    pub(super) fn at_once(&self) -> usize {
        if matches!(self.way, Way::Wide { .. }) && self.card.has_warpgroups() { SEVERAL } else { 0 }
    }

    /// `sums[split][output][row]` for `count` rows and columns of other rows, padded to whole tiles as `weights[output]` are; answers how
    /// many splits there are.
    pub(super) fn weigh_several(
        &self,
        rows: &Packed,
        count: usize,
        columns: &Packed,
        weights: &Buffer<f32>,
        outputs: usize,
        sums: &mut Sums,
    ) -> Result<usize, CudaError> {
        let (Packed::Halves { high, low, norms }, Packed::Halves { high: column_high, low: column_low, norms: column_norms }) =
            (rows, columns)
        else {
            return Err(no_halves("weigh_several"));
        };
        let tiles = column_norms.len() / WIDE_TILE.1;
        let splits = sums.even_splits_of(&self.card, count, WIDE_TILE.0, tiles, outputs)?;
        let name = if self.formula.kind == 0 { "weigh_several_exponential" } else { "weigh_several" };
        let launch = self.card.launch(name).grid(count.div_ceil(WIDE_TILE.0), splits).shared(GROUP_SHARED + outputs * WIDE_TILE.0 * 8);
        let launch = launch.buffer(high).buffer(low).buffer(norms).count(count);
        let launch = launch.buffer(column_high).buffer(column_low).buffer(column_norms).buffer(weights).count(tiles).count(self.width());
        launch.formula(&self.formula).buffer(&sums.values).count(outputs).run()?;
        Ok(splits)
    }

    /// Whether values can be stored by [`Self::store_values`].
    pub(super) fn is_storable(&self) -> bool {
        matches!(self.way, Way::Wide { .. })
    }

    /// `out[row][column]` in single precision for `count` rows from `from` on and `columns` of other rows, `stride` apart; of the matrix of
    /// rows with themselves half is computed.
    pub(super) fn store_values(
        &self,
        rows: &Packed,
        from: usize,
        count: usize,
        columns: &Packed,
        column_count: usize,
        out: &Buffer<f32>,
        stride: usize,
        symmetric: bool,
    ) -> Result<(), CudaError> {
        let (Packed::Halves { high, low, norms }, Packed::Halves { high: column_high, low: column_low, norms: column_norms }) =
            (rows, columns)
        else {
            return Err(no_halves("store_wide"));
        };
        let width = self.width();
        let name = match (self.formula.kind == 0, self.card.has_warpgroups()) {
            (true, true) => "store_group_exponential",
            (false, true) => "store_group",
            (true, false) => "store_wide_exponential",
            (false, false) => "store_wide",
        };
        let tiles = column_count.div_ceil(WIDE_TILE.1);
        let splits = (4 * self.card.processors() / count.div_ceil(WIDE_TILE.0).max(1)).clamp(1, 32).min(tiles.max(1));
        let launch = self.card.launch(name).grid(count.div_ceil(WIDE_TILE.0), splits).threads(256).shared(self.wide_shared());
        let launch = launch.part(high, from * width).part(low, from * width).part(norms, from).count(count);
        let launch = launch.buffer(column_high).buffer(column_low).buffer(column_norms).count(column_count).count(width);
        launch.formula(&self.formula).buffer(out).long(stride as u64).count(usize::from(symmetric)).run()
    }

    /// The kernel matrix of a set in single precision, rows `stride` apart.
    pub(super) fn store(&self, ids: &Buffer<u32>, count: usize, matrix: &Buffer<f32>, stride: usize) -> Result<(), CudaError> {
        let rows = self.gather_single(ids, count)?;
        let plain = &self.kernel.single;
        let launch = self.card.launch(plain.store).grid(count.div_ceil(PLAIN_TILE.0), count.div_ceil(PLAIN_TILE.1));
        let launch = launch.buffer(&rows).null().null().count(count).buffer(&rows).null().null().count(count).count(self.columns);
        launch.formula(&plain.formula).null().buffer(matrix).count(stride).run()
    }
}

fn no_halves(kernel: &str) -> CudaError {
    CudaError::Call { kernel: kernel.to_owned(), found: "a table without halves".to_owned(), wanted: "halves".to_owned() }
}

/// How sums are computed: rows in registers up to 128 features of exponential kernels, else both sides through shared memory.
fn choose(card: &Card, kernel: &CardKernel, columns: usize) -> Way {
    const NAMES: [&str; 6] = ["weigh_narrow_1", "weigh_narrow_2", "weigh_narrow_3", "weigh_narrow_4", "weigh_narrow_6", "weigh_narrow_8"];
    let Some(formula) = kernel.tensor.filter(|_| card.has_tensor_cores()) else { return Way::Plain };
    let exponential = formula.kind == 0;
    let steps = columns.div_ceil(16);
    match NARROW.iter().position(|&there| there >= steps) {
        Some(at) if exponential => {
            let width = NARROW[at] * 16;
            // Two stages of 64 columns: both halves with eight more each, norms and weights.
            Way::Narrow { kernel: NAMES[at], width, shared: 2 * (64 * (width + 8) * 2 * 2 + 64 * 4 * 2) }
        }
        _ => choose_wide(card, kernel, columns),
    }
}

/// Both sides through shared memory, if there are tensor cores.
fn choose_wide(card: &Card, kernel: &CardKernel, columns: usize) -> Way {
    match kernel.tensor.filter(|_| card.has_tensor_cores()) {
        None => Way::Plain,
        Some(formula) => Way::Wide {
            kernel: match (formula.kind == 0, card.has_warpgroups()) {
                (true, true) => "weigh_group_exponential",
                (false, true) => "weigh_group",
                (true, false) => "weigh_wide_exponential",
                (false, false) => "weigh_wide",
            },
            width: columns.next_multiple_of(16).max(16),
        },
    }
}
