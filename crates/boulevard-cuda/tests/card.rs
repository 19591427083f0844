//! Every kind of kernel against a reference in double precision, on a card. Without one the tests say "skipped".

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use boulevard_cuda::{Buffer, Card, CudaError, Formula};

/// The first card; none, and the reason, where there is none.
fn card() -> Option<Arc<Card>> {
    match Card::open(0) {
        Ok(card) => Some(card),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// Numbers from a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn table(&mut self, values: usize) -> Vec<f64> {
        (0..values).map(|_| self.normal()).collect()
    }
}

const LOG2_E: f64 = std::f64::consts::LOG2_E;

fn rbf(gamma: f64) -> Formula {
    Formula { kind: 0, degree: 1, factor: 2.0 * gamma * LOG2_E, norm_factor: -gamma * LOG2_E, shift: 0.0 }
}

/// A table split into halves on the card, as the library does it.
struct Halves {
    exact: Buffer<f64>,
    norms: Buffer<f64>,
    high: Buffer<u16>,
    low: Buffer<u16>,
    norms32: Buffer<f32>,
}

const SCALE: f64 = 16.0;

fn split(card: &Arc<Card>, x: &[f64], rows: usize, columns: usize, width: usize) -> Result<Halves, CudaError> {
    let halves = Halves {
        exact: card.upload(x)?,
        norms: card.allocate(rows)?,
        high: card.allocate(rows * width)?,
        low: card.allocate(rows * width)?,
        norms32: card.allocate(rows)?,
    };
    let launch = card.launch("split_rows").items(rows * 32).buffer(&halves.exact).count(rows).count(columns).count(width).number(SCALE);
    launch.buffer(&halves.high).buffer(&halves.low).buffer(&halves.norms).buffer(&halves.norms32).run()?;
    Ok(halves)
}

/// Sums on tensor cores for `n` rows of `x` against `m` of them; answers the largest error over the sum of sizes, and seconds per value.
fn tensor(card: &Arc<Card>, n: usize, d: usize, width: usize, m: usize, kernel: &'static str, gamma: f64) -> Result<(f64, f64), CudaError> {
    let mut numbers = Numbers(n as u64 + d as u64);
    let (x, weights) = (numbers.table(n * d), numbers.table(m));
    let ids: Vec<u32> = (0..m).map(|k| ((k * 7 + 3) % n) as u32).collect();
    let (group, wide) = (kernel.starts_with("weigh_group"), !kernel.starts_with("weigh_narrow"));
    let tile = if wide { 128 } else { 64 };
    let (tiles, padded) = (m.div_ceil(tile), m.next_multiple_of(tile));
    let all = split(card, &x, n, d, width)?;
    let (ids_there, weights_there) = (card.upload(&ids)?, card.upload(&weights)?);
    let (high, low) = (card.allocate::<u16>(padded * width)?, card.allocate::<u16>(padded * width)?);
    let (norms, weights32) = (card.allocate::<f32>(padded)?, card.allocate::<f32>(padded)?);
    let launch = card.launch("gather_halves").items(padded * width / 8).buffer(&ids_there).count(m).count(padded).count(width);
    let launch = launch.buffer(&all.high).buffer(&all.low).buffer(&all.norms32).buffer(&weights_there);
    launch.buffer(&high).buffer(&low).buffer(&norms).buffer(&weights32).run()?;
    // As the library cuts columns for blocks that have a processor for themselves.
    let splits = if wide && n > 10_000 { 16 } else { 1 };
    let mut sums = card.allocate::<f64>(splits * n)?;
    sums.fill(0xff)?;
    let formula = Formula { factor: rbf(gamma).factor / (SCALE * SCALE), ..rbf(gamma) };
    let (threads, shared) = match (group, wide) {
        (true, _) => (256, 3 * 4 * 128 * 64 * 2 + 1024),
        (_, true) => (256, 3 * 4 * 128 * 40 * 2),
        _ => (128, 2 * (64 * (width + 8) * 4 + 64 * 8)),
    };
    let run = || {
        let launch = card.launch(kernel).grid(n.div_ceil(128), splits).threads(threads).shared(shared);
        let launch = launch.buffer(&all.high).buffer(&all.low).buffer(&all.norms32).count(n);
        let launch = launch.buffer(&high).buffer(&low).buffer(&norms).buffer(&weights32).count(tiles);
        let launch = if wide { launch.count(width) } else { launch };
        launch.formula(&formula).buffer(&sums).run()
    };
    run()?;
    let parts = sums.read(splits * n)?;
    let found: Vec<f64> = (0..n).map(|row| parts.iter().skip(row).step_by(n).sum()).collect();
    let mut worst = 0.0f64;
    for row in (0..n).step_by(n.div_ceil(200)) {
        let (mut wanted, mut size) = (0.0, 1e-300);
        for (k, &id) in ids.iter().enumerate() {
            let (a, b) = (&x[row * d..(row + 1) * d], &x[id as usize * d..(id as usize + 1) * d]);
            let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            let value = weights[k] * (-gamma * distance).exp();
            wanted += value;
            size += value.abs();
        }
        worst = worst.max((found[row] - wanted).abs() / size);
        assert!(!found[row].is_nan(), "row {row} of {kernel} was not written");
    }
    let start = Instant::now();
    for _ in 0..5 {
        run()?;
    }
    card.synchronize()?;
    Ok((worst, start.elapsed().as_secs_f64() / 5.0 / (n * m) as f64))
}

#[test]
fn sums_on_tensor_cores_agree() {
    let Some(card) = card().filter(|card| card.has_tensor_cores()) else { return };
    println!("{card:?}, {:?} bytes free and in all, {} bytes of shared memory", card.memory().unwrap(), card.shared_bytes());
    let cases = [
        (1000, 10, 16, 130, "weigh_narrow_1"),
        (1000, 20, 32, 130, "weigh_narrow_2"),
        (1000, 45, 48, 130, "weigh_narrow_3"),
        (1000, 54, 64, 130, "weigh_narrow_4"),
        (1000, 90, 96, 130, "weigh_narrow_6"),
        (1000, 120, 128, 130, "weigh_narrow_8"),
        (1000, 300, 304, 300, "weigh_wide_exponential"),
        (1000, 310, 320, 300, "weigh_wide_exponential"),
        (1000, 5, 16, 300, "weigh_group_exponential"),
        (1000, 300, 304, 300, "weigh_group_exponential"),
        (1000, 310, 320, 300, "weigh_group_exponential"),
        (200_000, 20, 32, 8192, "weigh_narrow_2"),
        (200_000, 54, 64, 8192, "weigh_narrow_4"),
        (200_000, 128, 128, 8192, "weigh_narrow_8"),
        (60_000, 784, 784, 8192, "weigh_wide_exponential"),
        (60_000, 784, 784, 8192, "weigh_group_exponential"),
        (60_000, 256, 256, 8192, "weigh_group_exponential"),
    ];
    let mut wrong = Vec::new();
    for (n, d, width, m, kernel) in cases {
        if kernel.starts_with("weigh_group") && !card.has_warpgroups() {
            println!("skipped: {kernel} is for Hopper");
            continue;
        }
        let (error, pace) = tensor(&card, n, d, width, m, kernel, 0.5 / d as f64).unwrap();
        println!(
            "{kernel:24} {n:6} x {d:3}, {m:4} columns: error {error:.1e}, {:.2} ps per value, {:.0} useful TFLOP/s",
            pace * 1e12,
            2e-12 * d as f64 / pace
        );
        if error.is_nan() || error > 3e-6 {
            wrong.push(kernel);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn sums_in_plain_arithmetic_agree() {
    let Some(card) = card() else { return };
    for (n, d, m) in [(1000usize, 54usize, 130usize), (40_000, 54, 8192)] {
        let mut numbers = Numbers(5);
        let (x, weights) = (numbers.table(n * d), numbers.table(m));
        let all = card.upload(&x).unwrap();
        let (single, norms) = (card.allocate::<f32>(n * d).unwrap(), card.allocate::<f64>(n).unwrap());
        card.launch("plain_rows").items(n * 32).buffer(&all).count(n).count(d).buffer(&single).buffer(&norms).run().unwrap();
        let ids: Vec<u32> = (0..m as u32).map(|k| (k * 5 + 1) % n as u32).collect();
        let (ids, weights_there) = (card.upload(&ids).unwrap(), card.upload(&weights).unwrap());
        let (rows, row_norms) = (card.allocate::<f64>(m * d).unwrap(), card.allocate::<f64>(m).unwrap());
        let launch = card.launch("gather_exact").items(m * d).buffer(&ids).count(m).count(m).count(d).count(d).buffer(&all);
        launch.buffer(&norms).null().buffer(&rows).buffer(&row_norms).null().run().unwrap();
        let (rows32, norms32) = (card.allocate::<f32>(m * d).unwrap(), card.allocate::<f32>(m).unwrap());
        let launch = card.launch("gather_single").items(m * d).buffer(&ids).count(m).count(d).buffer(&all).buffer(&norms);
        launch.buffer(&rows32).buffer(&norms32).run().unwrap();
        let sums = card.allocate::<f64>(n).unwrap();
        let gamma = 0.01;
        let distance = Formula { kind: 0, degree: 1, factor: -gamma * LOG2_E, norm_factor: 0.0, shift: 0.0 };
        for kernel in ["weigh_double_product", "weigh_single_squared"] {
            let run = || {
                let launch = card.launch(kernel).grid(n.div_ceil(64), 1);
                let launch = if kernel == "weigh_double_product" {
                    launch.buffer(&all).null().buffer(&norms).count(n).buffer(&rows).buffer(&row_norms)
                } else {
                    launch.buffer(&single).null().null().count(n).buffer(&rows32).null()
                };
                let formula = if kernel == "weigh_double_product" { rbf(gamma) } else { distance };
                launch.buffer(&weights_there).count(m).count(d).formula(&formula).buffer(&sums).null().count(0).run()
            };
            run().unwrap();
            let found = sums.read(n).unwrap();
            let mut worst = 0.0f64;
            for row in (0..n).step_by(n.div_ceil(50)) {
                let (mut wanted, mut size) = (0.0, 0.0);
                for k in 0..m {
                    let id = (k * 5 + 1) % n;
                    let pairs = x[row * d..(row + 1) * d].iter().zip(&x[id * d..(id + 1) * d]);
                    let value = weights[k] * (-gamma * pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp();
                    wanted += value;
                    size += value.abs();
                }
                worst = worst.max((found[row] - wanted).abs() / size);
            }
            let start = Instant::now();
            run().unwrap();
            card.synchronize().unwrap();
            let pace = start.elapsed().as_secs_f64() / (n * m) as f64;
            println!("{kernel:24} {n:6} x {d:3}, {m:4} columns: error {worst:.1e}, {:.2} ps per value", pace * 1e12);
            assert!(worst < if kernel == "weigh_double_product" { 1e-13 } else { 1e-6 }, "{kernel}: {worst:e}");
        }
    }
}

/// Sums in double precision on tensor cores.
#[test]
fn exact_sums_agree() {
    let Some(card) = card().filter(|card| card.has_tensor_cores()) else { return };
    for (n, d, m) in [(1000usize, 53usize, 130usize), (128, 3, 64), (40_000, 20, 16_384), (40_000, 54, 16_384), (20_000, 784, 4096)] {
        let mut numbers = Numbers(6);
        let (x, weights) = (numbers.table(n * d), numbers.table(m));
        let (width, tiles, padded) = (d.next_multiple_of(8), m.div_ceil(64), n.next_multiple_of(64));
        let (all, norms) = (card.upload(&x).unwrap(), card.allocate::<f64>(n).unwrap());
        let single = card.allocate::<f32>(n * d).unwrap();
        card.launch("plain_rows").items(n * 32).buffer(&all).count(n).count(d).buffer(&single).buffer(&norms).run().unwrap();
        let gather = |ids: &[u32], padded: usize, weights: Option<&[f64]>| {
            let there = card.upload(ids).unwrap();
            let (rows, to_norms) = (card.allocate::<f64>(padded * width).unwrap(), card.allocate::<f64>(padded).unwrap());
            let to_weights = card.allocate::<f64>(padded).unwrap();
            let launch = card.launch("gather_exact").items(padded * width).buffer(&there).count(ids.len()).count(padded);
            let launch = launch.count(d).count(width).buffer(&all).buffer(&norms);
            let weights = weights.map(|weights| card.upload(weights).unwrap());
            let launch = match &weights {
                Some(weights) => launch.buffer(weights).buffer(&rows).buffer(&to_norms).buffer(&to_weights),
                None => launch.null().buffer(&rows).buffer(&to_norms).null(),
            };
            launch.run().unwrap();
            (rows, to_norms, to_weights)
        };
        let ids: Vec<u32> = (0..m).map(|k| ((k * 5 + 1) % n) as u32).collect();
        let (columns, column_norms, to_weights) = gather(&ids, tiles * 64, Some(&weights));
        let (rows, row_norms, _) = gather(&(0..n as u32).collect::<Vec<_>>(), padded, None);
        let mut sums = card.allocate::<f64>(n).unwrap();
        sums.fill(0xff).unwrap();
        let gamma = 0.5 / d as f64;
        let run = || {
            let launch = card.launch("weigh_exact_exponential").grid(n.div_ceil(64), 1).threads(128).shared(61_440);
            let launch = launch.buffer(&rows).buffer(&row_norms).count(n).buffer(&columns).buffer(&column_norms).buffer(&to_weights);
            launch.count(tiles).count(width).formula(&rbf(gamma)).buffer(&sums).run().unwrap();
        };
        run();
        let found = sums.read(n).unwrap();
        let mut worst = 0.0f64;
        for row in (0..n).step_by(n.div_ceil(50)) {
            let (mut wanted, mut size) = (0.0, 0.0);
            for (k, &id) in ids.iter().enumerate() {
                let pairs = x[row * d..(row + 1) * d].iter().zip(&x[id as usize * d..(id as usize + 1) * d]);
                let value = weights[k] * (-gamma * pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp();
                wanted += value;
                size += value.abs();
            }
            worst = worst.max((found[row] - wanted).abs() / size);
            assert!(!found[row].is_nan(), "row {row} was not written");
        }
        let start = Instant::now();
        (0..3).for_each(|_| run());
        card.synchronize().unwrap();
        let pace = start.elapsed().as_secs_f64() / 3.0 / (n * m) as f64;
        println!("weigh_exact_exponential  {n:6} x {d:3}, {m:5} columns: error {worst:.1e}, {:.2} ps per value", pace * 1e12);
        assert!(worst < 1e-13, "{worst:e}");
    }
}

/// Systems of a kernel matrix against their residuals, and what a factor takes.
#[test]
fn systems_are_solved() {
    let Some(card) = card().filter(|card| card.has_tensor_cores()) else { return };
    for size in [100usize, 1000, 2047, 4094, 8190, 16_382, 46_000] {
        let (d, width, sides, mut numbers) = (6usize, 8usize, 2usize, Numbers(size as u64));
        let stride = (size + sides).next_multiple_of(128);
        if stride * stride * 8 > card.memory().unwrap().0 / 2 {
            println!("skipped: no memory for a system of {size}");
            continue;
        }
        let x = numbers.table(size * d);
        let (mut padded, mut norms) = (vec![0.0; stride * width], vec![0.0; stride]);
        for (i, row) in x.chunks_exact(d).enumerate() {
            padded[i * width..i * width + d].copy_from_slice(row);
            norms[i] = row.iter().map(|v| v * v).sum();
        }
        let (rows, norms) = (card.upload(&padded).unwrap(), card.upload(&norms).unwrap());
        let right: Vec<Vec<f64>> = (0..sides).map(|_| numbers.table(size)).collect();
        let (mut matrix, inverses) = (card.allocate::<f64>(stride * stride).unwrap(), card.allocate::<f64>(stride * 64).unwrap());
        let failed = card.upload(&[0u32]).unwrap();
        let (y, out) = (card.allocate::<f64>(sides * stride).unwrap(), card.allocate::<f64>(sides * stride).unwrap());
        let (gamma, mut seconds) = (0.5, [0.0; 4]);
        for _ in 0..2 {
            let mut phase = Instant::now();
            let mut lap = |at: usize| {
                card.synchronize().unwrap();
                seconds[at] = phase.elapsed().as_secs_f64();
                phase = Instant::now();
            };
            let launch = card.launch("store_exact_exponential").grid(stride / 64, stride / 64).threads(128).shared(61_440);
            let launch = launch.buffer(&rows).buffer(&norms).count(size).count(width).formula(&rbf(gamma)).number(1e-6).number(1e30);
            launch.buffer(&matrix).count(stride).run().unwrap();
            lap(0);
            right.iter().enumerate().for_each(|(k, side)| matrix.write((size + k) * stride, side).unwrap());
            let mut last = 0.0;
            for outer in (0..stride).step_by(1024) {
                let outer_end = (outer + 1024).min(stride);
                // What columns from `start` to `end` owe to those up to `right`.
                let mut subtract = |start: usize, end: usize, right: usize| {
                    card.synchronize().unwrap();
                    let before = Instant::now();
                    let tiles = (stride - end) / 128;
                    let launch = card.launch("subtract_128").grid(8 * ((right - end) / 128), tiles.div_ceil(8)).shared(122_880);
                    let launch = launch.buffer(&matrix).count(stride).count(stride).count(end).count(end);
                    launch.count(start).count(end - start).run().unwrap();
                    card.synchronize().unwrap();
                    last += before.elapsed().as_secs_f64();
                };
                for start in (outer..outer_end).step_by(512) {
                    let end = (start + 512).min(outer_end);
                    for at in (start..end).step_by(64) {
                        let tiles = (stride - at) / 64;
                        if at > start {
                            let launch = card.launch("subtract_64").grid(8, tiles.div_ceil(8)).threads(128).shared(61_440);
                            let launch = launch.buffer(&matrix).count(stride).count(stride).count(at).count(at);
                            launch.count(start).count(at - start).run().unwrap();
                        }
                        let launch = card.launch("factor_block").shared(66_560).buffer(&matrix).count(stride).count(at).number(1e-9);
                        launch.buffer(&inverses).buffer(&failed).run().unwrap();
                        let launch = card.launch("solve_block").grid(tiles - 1, 1).threads(128).shared(61_440);
                        launch.buffer(&matrix).count(stride).count(at).count(at + 64).buffer(&inverses).run().unwrap();
                    }
                    subtract(start, end, outer_end);
                }
                subtract(outer, outer_end, stride);
            }
            lap(1);
            seconds[3] = last;
            card.launch("take_sides").items(stride).buffer(&matrix).count(stride).count(size).count(sides).buffer(&y).run().unwrap();
            for at in (0..stride).step_by(64).rev() {
                let launch = card.launch("back_block").grid(at.div_ceil(256).max(1), 1).buffer(&matrix).count(stride).count(at);
                launch.buffer(&inverses).count(sides).buffer(&y).buffer(&out).run().unwrap();
            }
            card.synchronize().unwrap();
            seconds[2] = phase.elapsed().as_secs_f64();
        }
        assert_eq!(failed.read(1).unwrap(), [0], "{size}");
        let found = out.read(sides * stride).unwrap();
        let mut worst = 0.0f64;
        for side in 0..sides {
            let solution = &found[side * stride..][..size];
            let most = solution.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            for i in (0..size).step_by(size.div_ceil(40)) {
                let mut sum = 1e-6 * solution[i];
                for j in 0..size {
                    let distance: f64 = (0..d).map(|k| (x[i * d + k] - x[j * d + k]).powi(2)).sum();
                    sum += (-gamma * distance).exp() * solution[j];
                }
                worst = worst.max((sum - right[side][i]).abs() / most);
            }
        }
        println!(
            "system of {size:5}: matrix {:.2} ms, factor {:.2} ms ({:.1} TFLOP/s; large tiles {:.2} ms), back {:.2} ms, residual {worst:.1e}",
            seconds[0] * 1e3,
            seconds[1] * 1e3,
            (size as f64).powi(3) / 3e12 / seconds[1],
            seconds[3] * 1e3,
            seconds[2] * 1e3
        );
        assert!(worst < 1e-9, "{size}: {worst:e}");
    }
}

/// A set's own problem: feasible, and solved to the violation asked for.
#[test]
fn sets_are_solved() {
    let Some(card) = card() else { return };
    let cases = [
        (900usize, 256usize, "local_one_1024_by_2"),
        (900, 256, "local_one_1024_by_4"),
        (2048, 256, "local_one_2048_by_2"),
        (2048, 256, "local_one_2048_by_4"),
        (4096, 512, "local_one_4096_by_2"),
    ];
    for (q, threads, kernel) in cases {
        let (stride, d, mut numbers) = (q.next_multiple_of(1024), 5, Numbers(q as u64));
        if stride * 24 > card.shared_bytes() {
            println!("skipped: sets of {q} need {} bytes of shared memory", stride * 24);
            continue;
        }
        let x = numbers.table(q * d);
        let mut matrix = vec![f32::NAN; q * stride];
        for i in 0..q {
            for j in 0..q {
                let distance: f64 = (0..d).map(|k| (x[i * d + k] - x[j * d + k]).powi(2)).sum();
                matrix[i * stride + j] = (-0.3 * distance).exp() as f32;
            }
        }
        let linear: Vec<f64> = (0..q).map(|_| if numbers.uniform() < 0.5 { 1.0 } else { -1.0 }).collect();
        let lower: Vec<f64> = linear.iter().map(|&p| if p > 0.0 { -10.0 } else { 0.0 }).collect();
        let upper: Vec<f64> = linear.iter().map(|&p| if p < 0.0 { 10.0 } else { 0.0 }).collect();
        let there = card.upload(&matrix).unwrap();
        let (linear_there, zero) = (card.upload(&linear).unwrap(), card.upload(&vec![0.0f64; q]).unwrap());
        let (lower_there, upper_there) = (card.upload(&lower).unwrap(), card.upload(&upper).unwrap());
        let out = card.allocate::<f64>(q + 2).unwrap();
        let run = || {
            let launch = card.launch(kernel).threads(threads).shared(stride * 24).buffer(&there).count(q).count(stride);
            let launch = launch.buffer(&linear_there).buffer(&zero).buffer(&lower_there).buffer(&upper_there).null();
            launch.number(0.0).number(1e-2).long(200_000).buffer(&out).part(&out, q).run().unwrap();
            out.read(q + 2).unwrap()
        };
        let first = run();
        let start = Instant::now();
        let b = run();
        let (seconds, steps) = (start.elapsed().as_secs_f64(), b[q].to_bits());
        assert!(first.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()), "the same set twice");
        let (mut least, mut most, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for i in 0..q {
            assert!(lower[i] <= b[i] && b[i] <= upper[i], "{} <= {} <= {}", lower[i], b[i], upper[i]);
            let g = linear[i] + (0..q).map(|j| f64::from(matrix[i * stride + j]) * b[j]).sum::<f64>();
            sum += b[i];
            least = if b[i] < upper[i] { least.min(g) } else { least };
            most = if b[i] > lower[i] { most.max(g) } else { most };
        }
        println!(
            "{kernel:24} {q:4} variables: {steps} steps of {:.2} us, violation {:.2e}, sum {sum:.1e}",
            seconds / steps as f64 * 1e6,
            most - least
        );
        assert!(most - least < 1.1e-2 && sum.abs() < 1e-9);
    }
}

/// A wrong call is an error, not a broken card.
#[test]
fn calls_are_checked() {
    let Some(card) = card() else { return };
    let buffer = card.upload(&[1u32, 2, 3]).unwrap();
    let wrong = card.launch("count_up").buffer(&buffer).run().unwrap_err();
    assert!(matches!(&wrong, CudaError::Call { kernel, .. } if kernel == "count_up"), "{wrong}");
    assert!(matches!(card.launch("no_such_kernel").run(), Err(CudaError::Call { .. })));
    assert!(buffer.read(4).is_err());
    let (free, _) = card.memory().unwrap();
    let much = card.allocate::<u8>(free * 2).map(|_| ()).unwrap_err();
    assert!(matches!(much, CudaError::Memory { .. }), "{much}");
    card.launch("count_up").items(3).buffer(&buffer).count(3).run().unwrap();
    assert_eq!(buffer.read(3).unwrap(), [0, 1, 2]);
    assert!(matches!(Card::open(999), Err(CudaError::NoCard { asked: 999, .. })));
}

/// On machines without a driver nothing breaks, and the line says what is missing.
#[test]
fn a_machine_without_a_driver_says_so() {
    if let Err(error) = Card::count() {
        let line = error.to_string();
        assert!(line.starts_with("no NVIDIA driver") || line.contains("driver"), "{line}");
        assert_eq!(Card::open(0).unwrap_err(), error);
    }
}
