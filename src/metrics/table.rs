//! Reads metrics files back: those of `fori train`, and any others with a column `step`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::error::{Error, Result};

/// The values of one model at one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The step.
    pub step: u64,
    /// The model, 0 in a run of one model.
    pub model: usize,
    /// Seconds of training, those before a resume included; `None` without a column `elapsed_s`.
    pub elapsed_s: Option<f64>,
    /// Per column that was asked for, its value, which may be NaN or infinite; `None` where the field is empty.
    pub values: Vec<Option<f64>>,
}

/// The rows of a metrics file.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Ordered by step; of one step as in the file.
    pub records: Vec<Record>,
    /// Per column that was asked for, whether the file has it.
    pub found: Vec<bool>,
}

/// Reads the columns `names` of a file. JSON lines are told from CSV by their first byte.
///
/// A last line without its line feed, as a run leaves it that was killed or goes on, is left out where it cannot be read,
/// and in a `.partial` file always, since half a number can be one.
///
/// # Errors
/// [`Error::Io`], and [`Error::Data`] with the line for what is no metrics file.
pub fn read(path: &Path, names: &[&str]) -> Result<Table> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut lines =
        Lines { path, names, table: Table { records: Vec::new(), found: vec![false; names.len()] }, number: 0 };
    let mut reader = BufReader::new(file);
    let json = reader.fill_buf().map_err(|e| Error::io(path, e))?.first() == Some(&b'{');
    let partial = path.extension().is_some_and(|e| e == "partial");
    let mut header = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        // A file without line feeds is no reason to fill the memory.
        let limit = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line).map_err(|e| Error::io(path, e))?;
        if limit == 0 {
            break;
        }
        lines.number += 1;
        let whole = line.ends_with(b"\n");
        if partial && !whole {
            break;
        }
        let text = std::str::from_utf8(&line)
            .map(str::trim)
            .map_err(|_| lines.error("expected text in UTF-8, as the metrics of `fori train --metrics FILE`"));
        let taken = match (text, &header) {
            (Ok(""), _) => Ok(()),
            (Ok(text), _) if json => lines.json(text),
            (Ok(text), Some(header)) => lines.csv(text, header),
            (Ok(text), None) => lines.header(text).map(|columns| header = Some(columns)),
            (Err(error), _) => Err(error),
        };
        match taken {
            Err(_) if !whole && lines.number > 1 => break,
            taken => taken?,
        }
    }
    lines.finish()
}

/// No line of a metrics file is nearly as long, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// The columns of a CSV file.
struct Header {
    fields: usize,
    step: usize,
    model: Option<usize>,
    elapsed_s: Option<usize>,
    values: Vec<Option<usize>>,
}

struct Lines<'a> {
    path: &'a Path,
    names: &'a [&'a str],
    table: Table,
    number: usize,
}

impl Lines<'_> {
    fn error(&self, text: impl std::fmt::Display) -> Error {
        Error::Data(format!("{}, line {}: {text}", self.path.display(), self.number))
    }

    fn header(&mut self, text: &str) -> Result<Header> {
        let columns = fields(text).map_err(|e| self.error(e))?;
        let find = |name: &str| columns.iter().position(|column| column == name);
        let Some(step) = find("step") else {
            return Err(self.error(format!(
                "expected a header with a column step, as the metrics of `fori train --metrics FILE` have it; found {}",
                shown(text)
            )));
        };
        let values: Vec<_> = self.names.iter().map(|name| find(name)).collect();
        self.table.found = values.iter().map(Option::is_some).collect();
        Ok(Header { fields: columns.len(), step, model: find("model"), elapsed_s: find("elapsed_s"), values })
    }

    fn csv(&mut self, text: &str, header: &Header) -> Result<()> {
        let row = fields(text).map_err(|e| self.error(e))?;
        if row.len() != header.fields {
            return Err(self.error(format!("expected {} fields, found {}", header.fields, row.len())));
        }
        let number = |column: &str, at: usize| match row[at].trim() {
            "" => Ok(None),
            text => {
                text.parse().map(Some).map_err(|_| self.error(format!("the {column} {} is no number", shown(text))))
            }
        };
        let whole = |column: &str, at: usize| {
            let text = row[at].trim();
            text.parse::<u64>().map_err(|_| self.error(format!("the {column} {} is no whole number", shown(text))))
        };
        let step = whole("step", header.step)?;
        let model = header.model.map_or(Ok(0), |at| whole("model", at))?;
        let elapsed_s = header.elapsed_s.map_or(Ok(None), |at| number("elapsed_s", at))?;
        let one = |(name, at): (&&str, &Option<usize>)| at.map_or(Ok(None), |at| number(name, at));
        let values = self.names.iter().zip(&header.values).map(one).collect::<Result<_>>()?;
        self.push(step, model, elapsed_s, values);
        Ok(())
    }

    fn json(&mut self, text: &str) -> Result<()> {
        use serde_json::Value;
        let object: serde_json::Map<String, Value> =
            serde_json::from_str(text).map_err(|e| self.error(format!("expected a JSON object: {e}")))?;
        let whole = |column: &str, default: Option<u64>| {
            let found = object.get(column).map_or(default, Value::as_u64);
            found.ok_or_else(|| self.error(format!("expected a whole number as {column:?}")))
        };
        // JSON has no NaN and no infinity; null stands for them.
        let number = |column: &str| match object.get(column) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(f64::NAN)),
            Some(value) => {
                value.as_f64().map(Some).ok_or_else(|| self.error(format!("the {column} {value} is no number")))
            }
        };
        let (step, model) = (whole("step", None)?, whole("model", Some(0))?);
        let elapsed_s = number("elapsed_s")?;
        let values = self.names.iter().map(|name| number(name)).collect::<Result<Vec<_>>>()?;
        for (found, value) in self.table.found.iter_mut().zip(&values) {
            *found |= value.is_some();
        }
        self.push(step, model, elapsed_s, values);
        Ok(())
    }

    fn push(&mut self, step: u64, model: u64, elapsed_s: Option<f64>, values: Vec<Option<f64>>) {
        let model = usize::try_from(model).unwrap_or(usize::MAX);
        self.table.records.push(Record { step, model, elapsed_s, values });
    }

    fn finish(mut self) -> Result<Table> {
        if self.table.records.is_empty() {
            let what = if self.number == 0 { "is empty" } else { "has no rows" };
            return Err(Error::Data(format!(
                "{} {what}: expected the metrics of a run, as `fori train --metrics FILE` writes them",
                self.path.display()
            )));
        }
        // A resumed run counts its time from 0 again.
        let (mut before, mut last) = (0.0, 0.0);
        for elapsed in self.table.records.iter_mut().filter_map(|record| record.elapsed_s.as_mut()) {
            if *elapsed < last {
                before += last;
            }
            last = *elapsed;
            *elapsed += before;
        }
        self.table.records.sort_by_key(|record| record.step);
        Ok(self.table)
    }
}

/// The fields of a line of CSV.
fn fields(text: &str) -> Result<Vec<String>, String> {
    if !text.contains('"') {
        return Ok(text.split(',').map(|field| field.trim().to_owned()).collect());
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().next().ok_or("expected fields with commas between them")?;
    record.map(|r| r.iter().map(|field| field.trim().to_owned()).collect()).map_err(|e| e.to_string())
}

/// The beginning of what was found, for messages.
fn shown(text: &str) -> String {
    let begin: String = text.chars().take(60).collect();
    format!("{begin:?}{}", if begin.len() < text.len() { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, names: &[&str]) -> Result<Table> {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("m");
        std::fs::write(&path, text).expect("a file can be written");
        read(&path, names)
    }

    fn error(text: &str) -> String {
        table(text, &["loss"]).expect_err("refused").to_string()
    }

    #[test]
    fn columns_are_found_by_name_in_csv_and_in_json_lines() {
        let csv = "loss,validation_loss,step,elapsed_s\n0.5,,1,0.1\nNaN,0.25,2,0.2\n";
        let json = "{\"step\":1,\"loss\":0.5,\"elapsed_s\":0.1}\n{\"step\":2,\"loss\":null,\"validation_loss\":0.25,\"elapsed_s\":0.2}\n";
        for text in [csv, json] {
            let got = table(text, &["loss", "validation_loss", "accuracy"]).expect("readable");
            assert_eq!(got.found, [true, true, false], "found: {text}");
            assert_eq!(got.records[0].values, [Some(0.5), None, None], "first row: {text}");
            let second = &got.records[1];
            assert!(second.values[0].is_some_and(f64::is_nan), "not a number is kept: {text}");
            assert_eq!(
                (second.step, second.values[1], second.elapsed_s),
                (2, Some(0.25), Some(0.2)),
                "second row: {text}"
            );
        }
    }

    #[test]
    fn the_time_of_a_resumed_run_goes_on() {
        let got = table("step,loss,elapsed_s\n1,1,2\n2,1,3\n3,1,0.5\n4,1,1\n", &["loss"]).expect("readable");
        let times: Vec<_> = got.records.iter().filter_map(|r| r.elapsed_s).collect();
        assert_eq!(times, [2.0, 3.0, 3.5, 4.0], "seconds of training");
    }

    #[test]
    fn half_a_last_line_is_left_out_and_other_faults_name_their_line() {
        let got = table("step,loss\n1,0.5\n2,0.", &["loss"]).expect("readable");
        assert_eq!(got.records.len(), 2, "0. is a number");
        assert_eq!(table("step,loss\n1,0.5\n2", &["loss"]).expect("readable").records.len(), 1, "half a row");
        assert!(
            error("step,loss\n1,0.5\n2\n").contains("line 3: expected 2 fields, found 1"),
            "{}",
            error("step,loss\n1,0.5\n2\n")
        );
        assert!(error("step,loss\nx,1\n").contains("line 2: the step \"x\" is no whole number"), "step");
        assert!(error("step,loss\n1,y\n").contains("line 2: the loss \"y\" is no number"), "loss");
        assert!(error("time,loss\n1,2\n").contains("line 1: expected a header with a column step"), "header");
        assert!(
            error("{\"step\":1,\"loss\":1}\n{\"loss\":2}\n").contains("line 2: expected a whole number as \"step\""),
            "JSON"
        );
        assert!(error("").contains("is empty") && error("step,loss\n").contains("has no rows"), "no rows");
    }
}
