//! Mean and deviation of a column.

/// Mean and population standard deviation (`ddof = 0`, as scikit-learn's `StandardScaler`) of one column; the deviation of a
/// constant column is 1, so that it is only centered, and an empty one has (0, 1).
///
/// Sums are taken relative to the first value, so a constant column has a deviation of exactly 0 whatever its value,
/// and squares relative to the largest deviation, so that very large or small units neither overflow nor vanish.
pub(super) fn moments(column: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let Some(origin) = column.clone().next() else { return (0.0, 1.0) };
    let (count, sum) = column.clone().fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + (v - origin)));
    let mean = origin + sum / count;
    let largest = column.clone().fold(0.0, |largest: f64, v| largest.max((v - mean).abs()));
    let squares: f64 = column.map(|v| ((v - mean) / largest).powi(2)).sum();
    let std = largest * (squares / count).sqrt();
    // Neither 0 nor NaN (0 / 0, a constant column) is greater than 0.
    (mean, if std > 0.0 { std } else { 1.0 })
}
