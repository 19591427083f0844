//! What the speed of fits and predictions is made of: kernel rows, the solver, parsing, prediction.
//!
//! ```text
//! cargo bench -p boulevard                       everything, about a minute
//! cargo bench -p boulevard -- kernel             what has `kernel` in its name
//! BOULEVARD_TABLE=FILE cargo bench -p boulevard -- table
//! ```
//! The last runs on a table of yours (the last column is the label): fits of 200 rows each (`bench/speed.py tiny --export FILE` writes one)
//! and 50 linear refits with one more column each, cold and warm (spambase in docs/benchmarks/linear.md). Without a table a generated one serves.

use std::hint::black_box;
use std::sync::OnceLock;

use boulevard::data::generate::{Clusters, classification};
use boulevard::data::io::{Format, ReadOptions};
use boulevard::data::{Scaler, Scaling};
use boulevard::internal::random::Random;
use boulevard::kernel::{KernelRows, rows};
use boulevard::prelude::*;
use boulevard::solver::linear::LinearLoss;
use boulevard::svm::WarmStart;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

fn main() {
    divan::main();
}

fn clusters(rows: usize, columns: usize) -> Dataset<'static> {
    classification(rows, 1, &Clusters { columns, ..Clusters::default() }).expect("sound settings")
}

/// 64 rows of a kernel matrix of 5000 samples.
mod kernel {
    use super::*;

    fn block<T: boulevard::kernel::Real>(bencher: Bencher<'_, '_>, kernel: &Kernel, columns: usize) {
        let data = clusters(5000, columns);
        let rows: Box<dyn KernelRows<T> + '_> = rows(kernel, &data.x, &Context::single()).expect("a resolved kernel");
        let (order, width) = ((0..64).collect::<Vec<_>>(), 5056);
        let mut values = vec![T::default(); order.len() * width];
        bencher
            .counter(ItemsCount::new(64 * 5000usize))
            .bench_local(|| rows.fill(&order, 0..5000, &mut values.chunks_exact_mut(width).collect::<Vec<_>>()));
    }

    #[divan::bench(args = [20, 100])]
    fn rbf_single(bencher: Bencher<'_, '_>, columns: usize) {
        block::<f32>(bencher, &Kernel::rbf(0.1), columns);
    }

    #[divan::bench(args = [20, 100])]
    fn rbf_double(bencher: Bencher<'_, '_>, columns: usize) {
        block::<f64>(bencher, &Kernel::rbf(0.1), columns);
    }

    #[divan::bench(args = [20, 100])]
    fn linear_single(bencher: Bencher<'_, '_>, columns: usize) {
        block::<f32>(bencher, &Kernel::Linear, columns);
    }
}

/// Whole fits on one thread.
mod solver {
    use super::*;

    #[divan::bench(args = [200, 2000], sample_count = 20)]
    fn rbf(bencher: Bencher<'_, '_>, rows: usize) {
        let data = clusters(rows, 20);
        let learner = Svc { kernel: Kernel::rbf(0.05), ..Default::default() };
        bencher.bench_local(|| learner.fit_in(black_box(&data), &Context::single()));
    }

    #[divan::bench(sample_count = 20)]
    fn regression(bencher: Bencher<'_, '_>) {
        let data = clusters(1000, 20);
        let y = (0..data.len()).map(|row| data.x.get(row, 0) * data.x.get(row, 1)).collect();
        let data = Dataset { target: Target::Real(y), ..data };
        let learner = Svr { kernel: Kernel::rbf(0.05), ..Default::default() };
        bencher.bench_local(|| learner.fit_in(black_box(&data), &Context::single()));
    }

    #[divan::bench(sample_count = 20)]
    fn linear(bencher: Bencher<'_, '_>) {
        let data = clusters(5000, 50);
        bencher.bench_local(|| LinearSvc::default().fit_in(black_box(&data), &Context::single()));
    }
}

/// A table of 2000 rows by 20 columns as text.
mod parsing {
    use super::*;

    fn text(bencher: Bencher<'_, '_>, format: Format) {
        let data = clusters(2000, 20);
        let mut bytes = Vec::new();
        data.write_to(&mut bytes, "memory", format).expect("memory takes any bytes");
        let options = ReadOptions { format: Some(format), ..Default::default() };
        bencher.counter(BytesCount::new(bytes.len())).bench_local(|| Dataset::read_from(black_box(&bytes[..]), "memory", &options));
    }

    #[divan::bench]
    fn csv(bencher: Bencher<'_, '_>) {
        text(bencher, Format::Csv);
    }

    #[divan::bench]
    fn libsvm(bencher: Bencher<'_, '_>) {
        text(bencher, Format::Libsvm);
    }
}

/// Classes of 5000 new rows.
#[divan::bench(args = [20, 100], sample_count = 20)]
fn prediction(bencher: Bencher<'_, '_>, columns: usize) {
    let (data, new) = (clusters(2000, columns), clusters(5000, columns));
    let model = Svc { kernel: Kernel::rbf(1.0 / columns as f64), ..Default::default() }.fit(&data).expect("two classes");
    bencher.counter(ItemsCount::new(5000usize)).bench_local(|| model.predict_in(black_box(&new.x), &Context::single()));
}

/// On a table of yours.
mod table {
    use super::*;

    /// Rows of a tiny fit.
    const TINY: usize = 200;
    const REFITS: usize = 50;

    fn given() -> &'static Dataset<'static> {
        static TABLE: OnceLock<Dataset<'static>> = OnceLock::new();
        TABLE.get_or_init(|| match std::env::var_os("BOULEVARD_TABLE") {
            Some(file) => Dataset::read(file).unwrap_or_else(|error| panic!("{error}")),
            None => clusters(2000, 20),
        })
    }

    #[divan::bench(sample_count = 5, sample_size = 1)]
    fn tiny_fits(bencher: Bencher<'_, '_>) {
        let data = given();
        let pieces: Vec<Dataset<'_>> =
            (0..data.len() / TINY).map(|k| data.select(&(k * TINY..(k + 1) * TINY).collect::<Vec<_>>())).collect();
        let learner = Svc { kernel: Kernel::rbf(0.1), ..Default::default() };
        bencher.counter(ItemsCount::new(pieces.len())).bench_local(|| pieces.iter().map(|piece| learner.fit(piece)).collect::<Vec<_>>());
    }

    /// The table with more columns, each whether two of its columns lie on given sides of given values.
    fn grown(data: &Dataset<'_>, rules: &[[(usize, f64); 2]]) -> Dataset<'static> {
        let (n, d) = (data.len(), data.x.columns());
        let mut values = Vec::with_capacity(n * (d + rules.len()));
        for i in 0..n {
            values.extend((0..d).map(|j| data.x.get(i, j)));
            values.extend(rules.iter().map(|[a, b]| if data.x.get(i, a.0) > a.1 && data.x.get(i, b.0) <= b.1 { 1.0 } else { -1.0 }));
        }
        let x = Matrix::dense(values, n, d + rules.len()).expect("whole rows");
        Dataset { x, feature_names: None, ..data.select(&(0..n).collect::<Vec<_>>()) }
    }

    /// The standardized table and the same with 1 to 50 more columns.
    fn growing() -> Vec<Dataset<'static>> {
        let scaler = Scaler::fit(&given().x, None, Scaling::Standard).expect("finite columns");
        let data = Dataset { x: scaler.transform(&given().x).expect("the same columns"), ..given().clone() };
        let mut random = Random::new(5, 0);
        let mut side = || (random.below(data.x.columns()), 0.5 * random.normal());
        let rules: Vec<[(usize, f64); 2]> = (0..REFITS).map(|_| [side(), side()]).collect();
        (0..=REFITS).map(|k| grown(&data, &rules[..k])).collect()
    }

    const LOSSES: [(LinearLoss, f64); 4] =
        [(LinearLoss::Absolute, 1.0), (LinearLoss::Absolute, 0.01), (LinearLoss::Squared, 1.0), (LinearLoss::Squared, 0.01)];

    #[divan::bench(args = [0, 1, 2, 3], sample_count = 3, sample_size = 1)]
    fn refits_cold(bencher: Bencher<'_, '_>, place: usize) {
        let (tables, (loss, c)) = (growing(), LOSSES[place]);
        let learner = LinearSvc { c, loss, tolerance: 1e-3, ..Default::default() };
        bencher.bench_local(|| tables[1..].iter().map(|table| learner.fit_in(table, &Context::single())).collect::<Vec<_>>());
    }

    #[divan::bench(args = [0, 1, 2, 3], sample_count = 3, sample_size = 1)]
    fn refits_warm(bencher: Bencher<'_, '_>, place: usize) {
        let (tables, (loss, c), context) = (growing(), LOSSES[place], Context::single());
        let learner = LinearSvc { c, loss, tolerance: 1e-3, ..Default::default() };
        let first = || {
            let mut start = WarmStart::default();
            learner.fit_warm(&tables[0], &mut start, &context).expect("two classes");
            start
        };
        bencher.with_inputs(first).bench_local_values(|mut start| {
            tables[1..].iter().map(|table| learner.fit_warm(table, &mut start, &context)).collect::<Vec<_>>()
        });
    }
}
