//! Folds that depend on what rows hold and not on where they stand.

use super::problem::tasks::{TaskSet, TaskSplit};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::content_key;

const FOLDS: usize = 5;

/// Folds by content: equal rows share one, classes keep their shares. None where a table has fewer different rows than `least`, or a side of
/// a task fewer than `least_of_side`.
pub(super) fn folds(
    tasks: &TaskSet<'_>,
    seed: u64,
    least: usize,
    least_of_side: usize,
    context: &Context<'_>,
) -> Result<Option<Vec<TaskSplit>>> {
    let (classify, mut meter) = (tasks.outputs.classify(), context.meter("prepare"));
    let mut splits = vec![TaskSplit { train: Vec::new(), test: Vec::new() }; FOLDS];
    for (t, table) in tasks.tables.iter().enumerate() {
        let of_table: Vec<usize> = (0..tasks.targets.len()).filter(|&m| tasks.targets[m].table == t).collect();
        let mut keys: Vec<(Vec<bool>, u64, u64, usize)> = (0..table.rows())
            .map(|row| {
                let pattern = of_table.iter().filter(|_| classify).map(|&m| tasks.targets[m].y[row] > 0.0).collect();
                let number =
                    of_table.iter().filter(|_| !classify).fold(0u64, |key, &m| key.rotate_left(7) ^ tasks.targets[m].y[row].to_bits());
                Ok((pattern, content_key(table, row, seed, &mut meter)?, number, row))
            })
            .collect::<Result<_>>()?;
        keys.sort_unstable();
        let groups: Vec<_> = keys.chunk_by(|a, b| (&a.0, a.1, a.2) == (&b.0, b.1, b.2)).collect();
        // Every side of every task must be left in every fold's rest.
        let few = |m: &usize| {
            [true, false].iter().any(|&side| groups.iter().filter(|g| (tasks.targets[*m].y[g[0].3] > 0.0) == side).count() < least_of_side)
        };
        if groups.len() < least.max(FOLDS) || (classify && of_table.iter().any(few)) {
            return Ok(None);
        }
        let mut fold_of = vec![0; table.rows()];
        groups.iter().enumerate().for_each(|(place, group)| group.iter().for_each(|key| fold_of[key.3] = place % FOLDS));
        for (fold, split) in splits.iter_mut().enumerate() {
            let (test, train) = (0..table.rows()).partition(|&row| fold_of[row] == fold);
            split.test.push(test);
            split.train.push(train);
        }
    }
    // Labels that go together may share a fold: every task must still have both sides to learn from.
    let both = |split: &TaskSplit, target: &super::problem::tasks::TaskTarget| {
        let side = |side: bool| split.train[target.table].iter().any(|&row| (target.y[row] > 0.0) == side);
        side(true) && side(false)
    };
    let sound = !classify || least_of_side == 0 || splits.iter().all(|split| tasks.targets.iter().all(|target| both(split, target)));
    Ok(sound.then_some(splits))
}
