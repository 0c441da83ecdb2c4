//! Centering and scaling of columns.

/// Which columns are standardized; `true` stands for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standardize {
    /// The inputs.
    pub features: bool,
    /// The targets. Labels stay as they are.
    pub targets: bool,
}

impl From<bool> for Standardize {
    fn from(both: bool) -> Self {
        Self { features: both, targets: both }
    }
}

/// Mean and standard deviation by which a column is centered and scaled: `(v - mean) / std`.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardization {
    /// Mean of each column, in the units of the file.
    pub mean: Vec<f64>,
    /// Population standard deviation (`ddof = 0`, as scikit-learn's `StandardScaler`) of each column, in the units of
    /// the file; 1 for a constant column, which is thus only centered.
    pub std: Vec<f64>,
}

impl Standardization {
    /// Measures each column of the row-major `values`, shape `(rows, columns)`; without rows it is the identity.
    /// Panics if `values` end within a row.
    pub fn of(values: &[f64], columns: usize) -> Self {
        assert!(values.len().is_multiple_of(columns), "{} values do not fill {columns} columns", values.len());
        let (mean, std) = (0..columns).map(|c| moments(values.iter().copied().skip(c).step_by(columns))).unzip();
        Self { mean, std }
    }

    /// Leaves the values of `columns` columns as they are: mean 0 and standard deviation 1.
    pub fn identity(columns: usize) -> Self {
        Self { mean: vec![0.0; columns], std: vec![1.0; columns] }
    }

    /// Centers and scales the row-major `values`, shape `(rows, columns)`; the result has the same shape.
    ///
    /// Computed in `f64`; beyond the range of `f32` the result is infinite. Panics if `values` end within a row.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose; read_csv refuses overflow")]
    pub fn apply(&self, values: &[f64]) -> Vec<f32> {
        let columns = self.mean.len();
        assert!(values.len().is_multiple_of(columns), "{} values do not fill {columns} columns", values.len());
        let scale = self.mean.iter().zip(&self.std).cycle();
        values.iter().zip(scale).map(|(v, (mean, std))| ((v - mean) / std) as f32).collect()
    }
}

/// Mean and population standard deviation of one column, (0, 1) if it is empty.
///
/// Sums are taken relative to the first value, so a constant column has a deviation of exactly 0 whatever its value,
/// and squares relative to the largest deviation, so that very large or small units neither overflow nor vanish.
fn moments(column: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let Some(origin) = column.clone().next() else { return (0.0, 1.0) };
    let (count, sum) = column.clone().fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + (v - origin)));
    let mean = origin + sum / count;
    let largest = column.clone().fold(0.0, |largest: f64, v| largest.max((v - mean).abs()));
    let squares: f64 = column.map(|v| ((v - mean) / largest).powi(2)).sum();
    let std = largest * (squares / count).sqrt();
    // Neither 0 nor NaN (0 / 0, a constant column) is greater than 0.
    (mean, if std > 0.0 { std } else { 1.0 })
}
