//! A growing matrix.

/// A row-major matrix.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    width: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(height: usize, width: usize) -> Self {
        Self { width, values: vec![0.0; height * width] }
    }

    /// A matrix from its rows, one after another.
    pub fn from_rows(width: usize, values: Vec<f64>) -> Self {
        Self { width, values }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.width..][..self.width]
    }

    /// A mutable row.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.width..][..self.width]
    }

    /// All numbers, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All numbers, mutable.
    pub fn values_mut(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }

    /// Set a row and a column of a square matrix to 0.
    pub fn clear_cross(&mut self, at: usize) {
        self.row_mut(at).fill(0.0);
        self.values.iter_mut().skip(at).step_by(self.width.max(1)).for_each(|entry| *entry = 0.0);
    }

    /// The first rows and columns of a square matrix.
    pub fn corner(&self, size: usize) -> Self {
        let rows = self.values.chunks_exact(self.width.max(1)).take(size);
        Self { width: size, values: rows.flat_map(|row| &row[..size]).copied().collect() }
    }

    /// The same square matrix with as much spare capacity as if it had grown.
    pub fn with_room(self, most: usize) -> Self {
        let mut grown = Self::default();
        grown.grow_square(self.width, most);
        let rows = grown.values.chunks_exact_mut(grown.width.max(1));
        for (target, row) in rows.zip(self.values.chunks_exact(self.width.max(1))) {
            target[..self.width].copy_from_slice(row);
        }
        grown
    }

    /// Grow a square matrix to at least this size; new entries are 0. Sizes double, up to `most`.
    pub fn grow_square(&mut self, size: usize, most: usize) {
        if size <= self.width {
            return;
        }
        let mut grown = Self::zeros(0, size.next_power_of_two().max(8).min(most).max(size));
        grown.values.resize(grown.width * grown.width, 0.0);
        for (target, row) in
            grown.values.chunks_exact_mut(grown.width).zip(self.values.chunks_exact(self.width.max(1)))
        {
            target[..self.width].copy_from_slice(row);
        }
        *self = grown;
    }
}
