//! Newton's systems on the processor, for tests: what engines with fast double precision offer, the plain way.

use super::CpuBlocks;
use crate::observe::Progress;
use crate::simd::Real;
use crate::solver::blocks::engine::{Costs, Moved, Newton, Outcome};

/// Gradients, statuses and marks by place, statuses by variable.
pub(in crate::solver::blocks) type Remembered = (Vec<f64>, Vec<u8>, Vec<bool>, Vec<u8>);

impl<T: Real> CpuBlocks<'_, T> {
    /// `K(rows, columns)` in double precision, by rows.
    fn matrix(&self, rows: &[u32], columns: &[u32]) -> Vec<Vec<f64>> {
        let kernel = self.source.double().unwrap();
        let all = kernel.columns().next_multiple_of(64);
        let pick = |row: &u32| {
            let mut out = vec![0.0; all];
            kernel.fill(&[*row as usize], 0..kernel.columns(), &mut [&mut out]);
            columns.iter().map(|&c| out[c as usize]).collect()
        };
        rows.iter().map(pick).collect()
    }
}

impl<T: Real> Newton for CpuBlocks<'_, T> {
    fn costs(&self) -> Costs {
        // Such that systems are always worth a try.
        Costs { round: 1.0, step: 0.0, value: 0.0, exact: 0.0, operation: 0.0, variable: 0.0, most: self.place.len() }
    }

    fn solve(
        &mut self,
        ids: &[u32],
        ridge: f64,
        sides: &[&[f64]],
        _: f64,
        cost: &mut f64,
        _: &Progress<'_>,
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        *cost += self.costs().system(ids.len());
        let mut l = self.matrix(ids, ids);
        let n = ids.len();
        for j in 0..n {
            l[j][j] += ridge;
            for i in j..n {
                let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
                let v = l[i][j] - sum;
                if i == j && v <= 0.01 * ridge {
                    return Ok(None);
                }
                l[i][j] = if i == j { v.sqrt() } else { v / l[j][j] };
            }
        }
        let solve = |side: &&[f64]| {
            let mut x = side.to_vec();
            for i in 0..n {
                x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
            }
            for i in (0..n).rev() {
                x[i] = (x[i] - (i + 1..n).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
            }
            x
        };
        Ok(Some(sides.iter().map(solve).collect()))
    }

    fn factored(&self) -> &[u32] {
        &[]
    }

    fn product(&mut self, rows: &[u32], of: Moved<'_>) -> Outcome<Vec<f64>> {
        let matrix = self.matrix(rows, of.ids);
        Ok(matrix.iter().map(|row| row.iter().zip(of.steps).map(|(k, step)| k * step).sum()).collect())
    }

    fn active(&mut self) -> Outcome<(Vec<u32>, Vec<f64>)> {
        Ok((self.active.clone(), self.gradient.clone()))
    }

    fn remember(&mut self) -> Outcome<()> {
        self.remembered = Some((self.gradient.clone(), self.status.clone(), self.exact.clone(), self.parked_status.clone()));
        Ok(())
    }

    fn restore(&mut self) -> Outcome<()> {
        if let Some(remembered) = self.remembered.take() {
            (self.gradient, self.status, self.exact, self.parked_status) = remembered;
        }
        Ok(())
    }
}
