//! Writes columns as rows of JSON.

/// A column with one value per row.
#[derive(Debug)]
pub enum Column {
    /// Integers.
    Integers(Vec<i64>),
    /// Numbers; those that are not finite are omitted from their rows.
    Floats(Vec<f64>),
    /// True or false.
    Booleans(Vec<bool>),
    /// Raw JSON; empty texts are omitted from their rows.
    Json(Vec<Vec<u8>>),
    /// Indices into a list of JSON texts.
    Named(Vec<usize>, Vec<Vec<u8>>),
}

impl Column {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Booleans(values) => values.len(),
            Self::Json(texts) => texts.len(),
            Self::Named(indices, _) => indices.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Write the value of a row; nothing if it has none.
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        let written = match self {
            Self::Integers(values) => serde_json::to_writer(out, &values[row]),
            Self::Floats(values) if values[row].is_finite() => serde_json::to_writer(out, &values[row]),
            Self::Floats(_) => Ok(()),
            Self::Booleans(values) => serde_json::to_writer(out, &values[row]),
            Self::Json(texts) => {
                out.extend_from_slice(&texts[row]);
                Ok(())
            }
            Self::Named(indices, texts) => {
                out.extend_from_slice(&texts[indices[row]]);
                Ok(())
            }
        };
        // Writing numbers to memory cannot fail.
        debug_assert!(written.is_ok());
    }
}

/// Write one object per row, each followed by a newline; `names` are JSON, and all columns have the same length.
pub fn write(names: &[Vec<u8>], columns: &[Column]) -> Vec<u8> {
    let rows = columns.first().map_or(0, Column::len);
    let keys: Vec<Vec<u8>> = names.iter().map(|name| [name.as_slice(), b":"].concat()).collect();
    let mut out = Vec::with_capacity(rows * keys.iter().map(|key| key.len() + 12).sum::<usize>());
    for row in 0..rows {
        out.push(b'{');
        let begin = out.len();
        for (key, column) in keys.iter().zip(columns) {
            let before = out.len();
            if before > begin {
                out.push(b',');
            }
            out.extend_from_slice(key);
            let value = out.len();
            column.write(row, &mut out);
            if out.len() == value {
                out.truncate(before);
            }
        }
        out.extend_from_slice(b"}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_omitted() {
        let columns = [
            Column::Integers(vec![1, 2]),
            Column::Floats(vec![f64::NAN, 0.1]),
            Column::Json(vec![b"[]".to_vec(), Vec::new()]),
            Column::Named(vec![1, 0], vec![b"null".to_vec(), b"\"b\"".to_vec()]),
            Column::Booleans(vec![true, false]),
        ];
        let names = ["n", "x", "j", "k", "t"].map(|name| format!("\"{name}\"").into_bytes());
        let rows = "{\"n\":1,\"j\":[],\"k\":\"b\",\"t\":true}\n{\"n\":2,\"x\":0.1,\"k\":null,\"t\":false}\n";
        assert_eq!(String::from_utf8(write(&names, &columns)).unwrap(), rows);
        assert_eq!(write(&names[1..2], &[Column::Floats(vec![f64::NAN])]), b"{}\n");
    }
}
