//! The products and sums of matrices of the cpu executor: those of a GEMM, and the thin ones for which it would be slow.

use multiversion::multiversion;

/// A matrix to read: scalars, and the steps from row to row and from column to column.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    scalars: &'a [f32],
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(scalars: &'a [f32], row: usize) -> Self {
        Self { scalars, row, column: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// Whether `rows` x `columns` of it lie inside its scalars.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        (rows - 1) * self.row + (columns - 1) * self.column < self.scalars.len()
    }
}

/// `c = a b + beta c` with `(rows, inner)`, `(inner, columns)` and `(rows, columns)`.
pub(super) fn multiply(
    (rows, inner, columns): (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    beta: f32,
    c: &mut [f32],
    stride: usize,
) {
    let inside = a.holds(rows, inner) && b.holds(inner, columns) && (rows - 1) * stride + columns <= c.len();
    assert!(inside, "a product of {rows} x {inner} x {columns} exceeds its arenas");
    #[expect(clippy::cast_possible_wrap, reason = "a stride is below 2^31")]
    let [ar, ac, br, bc, cr] = [a.row, a.column, b.row, b.column, stride].map(|s| s as isize);
    #[expect(unsafe_code, reason = "the GEMM crate takes pointers")]
    // SAFETY: all three matrices lie inside their slices, as asserted above, and `c` is borrowed mutably.
    unsafe {
        let (a, b, c) = (a.scalars.as_ptr(), b.scalars.as_ptr(), c.as_mut_ptr());
        matrixmultiply::sgemm(rows, inner, columns, 1.0, a, ar, ac, b, br, bc, beta, c, cr, 1);
    }
}

/// `c[r] += sum_k a[r, k] b[k]` for the one used column of a padded matrix: a GEMM would compute its padding too.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_column(a: &[f32], a_stride: usize, b: &[f32], c: &mut [f32], stride: usize) {
    for (row, sum) in a.chunks_exact(a_stride).zip(c.iter_mut().step_by(stride)) {
        let mut sums = [0.0_f32; 16];
        let (blocks, rest) = row[..b.len()].as_chunks::<16>();
        for (x, w) in blocks.iter().zip(b.as_chunks::<16>().0) {
            for i in 0..16 {
                sums[i] += x[i] * w[i];
            }
        }
        let tail: f32 = rest.iter().zip(&b[16 * blocks.len()..]).map(|(x, w)| x * w).sum();
        *sum += sums.iter().sum::<f32>() + tail;
    }
}

/// `sums[k] = sum_r a[r, k] b[r]`, where `b` is the one used column of a padded matrix.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn sum_of_rows(a: &[f32], a_stride: usize, b: &[f32], stride: usize, rows: usize, sums: &mut [f32]) {
    sums.fill(0.0);
    for (row, factor) in a.chunks_exact(a_stride).zip(b.iter().step_by(stride)).take(rows) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x * factor;
        }
    }
}

/// `sums[c] = sum_r a[r, c]`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn sum_of_columns(a: &[f32], rows: usize, sums: &mut [f32]) {
    let stride = sums.len();
    // Blocks whose sums stay in registers.
    for (block, sums) in sums.chunks_mut(32).enumerate() {
        let mut wide = [0.0_f32; 32];
        for row in a.chunks_exact(stride).take(rows) {
            let row = &row[32 * block..];
            match row.first_chunk::<32>() {
                Some(row) => wide.iter_mut().zip(row).for_each(|(sum, x)| *sum += x),
                None => wide.iter_mut().zip(row).for_each(|(sum, x)| *sum += x),
            }
        }
        sums.copy_from_slice(&wide[..sums.len()]);
    }
}

/// `c = a^T b` with `(inner, rows)`, `(inner, columns)` and `(rows, columns)` for so few rows that packing them would take a GEMM
/// longer than the product.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_thin(
    (rows, inner): (usize, usize),
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    c: &mut [f32],
    stride: usize,
) {
    c.fill(0.0);
    for (a, b) in a.chunks_exact(a_stride).zip(b.chunks_exact(stride)).take(inner) {
        for (c, factor) in c.chunks_exact_mut(stride).zip(&a[..rows]) {
            c.iter_mut().zip(b).for_each(|(sum, x)| *sum += factor * x);
        }
    }
}
