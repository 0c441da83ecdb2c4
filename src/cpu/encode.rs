//! The encoding of a row of the inputs, for the oracle, the cpu executor and the networks on the host: waves of it, or rows of tables
//! in the place of indices.

use crate::plan::Plan;
use crate::real::{Real, lit};
use crate::spec::{Embedding, InputEncoding, Model};

/// Writes what the first layer reads of `row` to `out`. `params` are those of the model, `frequencies` and `waves` as in [`encode`].
pub(super) fn encode_row<T: Real>(
    plan: &Plan,
    params: &[T],
    frequencies: &[T],
    row: &[T],
    out: &mut [T],
    waves: impl Fn(&[T], &mut [T], &mut [T]),
) {
    let model = &plan.step.model;
    if model.embeddings.is_empty() {
        return encode(model, frequencies, row, out, waves);
    }
    embed(model.embeddings.iter(), row, out, |i, category, place| {
        let e = &plan.tables[i];
        place.copy_from_slice(&params[4 * (e.table + category * e.row_vectors())..][..e.of.width]);
    });
}

/// Writes the inputs that are kept, and waves of all of them. `frequencies` are those of the model, row-major, if it has some; `waves`
/// turns numbers of turns into sines and cosines.
pub(crate) fn encode<T: Real>(
    model: &Model,
    frequencies: &[T],
    row: &[T],
    out: &mut [T],
    waves: impl Fn(&[T], &mut [T], &mut [T]),
) {
    let (kept, out) = out.split_at_mut(model.options.kept_inputs(row.len()));
    kept.copy_from_slice(&row[..kept.len()]);
    let turns: Vec<T> = match model.options.encoding {
        InputEncoding::None => return,
        InputEncoding::Fourier { features, .. } => {
            let mut turns = vec![T::zero(); features];
            for (&x, frequencies) in row.iter().zip(frequencies.chunks_exact(features)) {
                turns.iter_mut().zip(frequencies).for_each(|(sum, &f)| *sum = *sum + x * f);
            }
            turns
        }
        InputEncoding::Frequency { frequencies } => {
            let octaves = std::iter::successors(Some(lit::<T>(0.5)), |&factor| Some(factor + factor));
            octaves.take(frequencies).flat_map(|factor| row.iter().map(move |&x| factor * x)).collect()
        }
    };
    let group = model.options.encoding.group(row.len());
    for (turns, out) in turns.chunks_exact(group).zip(out.chunks_exact_mut(2 * group)) {
        let (sines, cosines) = out.split_at_mut(group);
        waves(turns, sines, cosines);
    }
}

/// Sine and cosine of numbers of turns.
#[inline(always)]
pub(crate) fn waves<T: Real>(turns: &[T], sines: &mut [T], cosines: &mut [T]) {
    for ((&t, sine), cosine) in turns.iter().zip(sines).zip(cosines) {
        // Whole turns are taken away without rounding, before any product with pi.
        let rest = t - (t + lit(0.5)).floor();
        (*sine, *cosine) = (rest * lit(std::f64::consts::TAU)).sine_and_cosine();
    }
}

/// Writes what the first layer reads of `row` to `out`: numbers as they are, and in the place of the index of a category what
/// `table_row(i, category, place)` writes for embedding `i`.
pub(crate) fn embed<'a, T: Real>(
    embeddings: impl Iterator<Item = &'a Embedding>,
    row: &[T],
    out: &mut [T],
    table_row: impl Fn(usize, usize, &mut [T]),
) {
    let (mut done, mut out) = (0, out);
    for (i, e) in embeddings.enumerate() {
        let (numbers, rest) = out.split_at_mut(e.column - done);
        numbers.copy_from_slice(&row[done..e.column]);
        let (place, rest) = rest.split_at_mut(e.width);
        table_row(i, e.category(row[e.column]), place);
        (done, out) = (e.column + 1, rest);
    }
    out.copy_from_slice(&row[done..]);
}
