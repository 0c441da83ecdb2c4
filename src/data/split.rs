//! Which rows are trained on, and which are validated with.

use super::frame::{Column, Values};
use super::names::count;
use crate::rng::Key;
use crate::spec::TargetKind;

/// The child of the seed's key that rows are drawn by.
const STREAM: u32 = 0x5350_4c54;

/// Cuts `rows` into those that are trained on and those that are validated with, both in the order of the file, or says why it
/// cannot be done. Each stratum of `strata`, which is as long as `rows`, gives its share up to one row.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a count of rows, which is far below 2^53"
)]
pub(super) fn split(
    rows: &[usize],
    strata: &[usize],
    share: f64,
    seed: u64,
) -> Result<(Vec<usize>, Vec<usize>), String> {
    let taken = (share * rows.len() as f64).round() as usize;
    if taken == 0 || taken >= rows.len() {
        let side = if taken == 0 { "to validate with" } else { "to train on" };
        return Err(format!("--validation {share} of {} leaves no row {side}", count(rows.len(), "row")));
    }
    let key = Key::from_seed(seed).fold_in(STREAM);
    let mut order: Vec<_> = (0..rows.len()).collect();
    order.sort_by_cached_key(|&i| (strata[i], key.bits(rows[i] as u32), i));
    // Every so many-th of a list that is sorted by strata: the shares of all are exact together, and of each up to one row.
    let count_before = |i: usize| (i as u128 * taken as u128 / rows.len() as u128) as usize;
    let mut is_taken = vec![false; rows.len()];
    for (i, &at) in order.iter().enumerate() {
        is_taken[at] = count_before(i + 1) > count_before(i);
    }
    let pick = |wanted| rows.iter().zip(&is_taken).filter(|row| *row.1 == wanted).map(|row| *row.0).collect();
    Ok((pick(false), pick(true)))
}

/// The stratum of each row: its class, or of two-class labels, its label; all in one where there are no classes.
pub(super) fn strata(targets: &[&Column], kind: TargetKind, rows: &[usize]) -> Vec<usize> {
    let one = || vec![0; rows.len()];
    let ([column], TargetKind::Classes | TargetKind::Labels) = (targets, kind) else { return one() };
    match &column.values {
        Values::Texts(texts) => rows.iter().map(|&row| texts.word(row).map_or(0, |word| word + 1)).collect(),
        Values::Numbers(values) => {
            let mut found: Vec<_> = rows.iter().map(|&row| values[row]).collect();
            found.sort_unstable_by(f64::total_cmp);
            found.dedup();
            if kind == TargetKind::Labels && found.len() > 2 {
                return one();
            }
            let place = |&row: &usize| found.binary_search_by(|value| value.total_cmp(&values[row]));
            rows.iter().map(|row| place(row).unwrap_or_else(|at| at)).collect()
        }
    }
}
