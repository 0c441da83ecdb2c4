//! The results of a benchmark as text, Markdown and JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use crate::bench::{Bench, BenchConfig, Figures, Row};
use crate::cli::output::{loss_text, thousands};
use crate::gpu::{AdapterSummary, INSTALL};

/// What was measured where.
#[derive(Debug, Serialize)]
pub(super) struct Heading {
    version: &'static str,
    adapter: Option<AdapterSummary>,
    cores: usize,
    network: Vec<usize>,
    parameters: usize,
    activation: String,
    loss: String,
    optimizer: String,
    batch_size: usize,
    models: usize,
    kernels: &'static str,
    rounds: usize,
    seconds: f64,
    compared_step: usize,
}

impl Heading {
    pub(super) fn of(config: &BenchConfig, bench: &Bench) -> Self {
        let step = &bench.plan.step;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            adapter: bench.adapter.clone(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            network: step.model.widths.clone(),
            parameters: step.model.parameter_count(),
            activation: step.model.activation.to_string(),
            loss: step.loss.to_string(),
            optimizer: step.optimizer.to_string(),
            batch_size: step.batch_size,
            models: step.models,
            kernels: step.products.name(),
            rounds: config.rounds,
            seconds: config.turn.as_secs_f64(),
            compared_step: bench.compared_step,
        }
    }

    /// The place, and the network.
    pub(super) fn lines(&self) -> [String; 2] {
        let adapter = self.adapter.as_ref().map_or("no adapter".into(), ToString::to_string);
        let widths: Vec<_> = self.network.iter().map(ToString::to_string).collect();
        let models = if self.models == 1 { String::new() } else { format!("{} models of ", self.models) };
        [
            format!("fori {} on {adapter}, {} processor cores", self.version, self.cores),
            format!(
                "{models}[{}] ({} parameters), {}, {}, {}, batch of {}, {} kernels",
                widths.join(", "),
                thousands(self.parameters as u64),
                self.activation,
                self.loss,
                self.optimizer,
                self.batch_size,
                self.kernels
            ),
        ]
    }

    /// How to read the table.
    fn notes(&self) -> Vec<String> {
        let base = "Speed is that of one model's step against one submission per op.";
        let mut notes = vec![
            format!(
                "Medians of {} round{} of {} s a row, in which the rows took turns. {base}",
                self.rounds,
                if self.rounds == 1 { "" } else { "s" },
                self.seconds
            ),
            "The first step is timed from opening the adapter and includes compilation, for which a driver may use what it \
             kept from an earlier row or run."
                .into(),
            "Host is the time to record commands. GPU is the device's own clock, in a turn apart.".into(),
        ];
        if self.adapter.is_none() {
            notes.push(format!("No graphics adapter was found, so cpu alone was measured. {INSTALL}."));
        }
        notes
    }

    /// The heads of the columns, on two lines.
    fn columns(&self) -> [[String; 2]; 11] {
        let step = format!("step {}", self.compared_step);
        let heads = [
            ["", ""],
            ["steps per", "submission"],
            ["µs per", "step"],
            ["", "min to max"],
            ["µs per", "model-step"],
            ["host", "µs"],
            ["GPU", "µs"],
            ["first", "step s"],
            ["", "speed"],
            ["loss at", &step],
            ["verified", "steps"],
        ];
        heads.map(|head| head.map(String::from))
    }
}

/// The cells of a row after its name; why there are none.
fn cells(row: &Row) -> Result<[String; 10], &str> {
    let f: &Figures = row.outcome.as_ref().map_err(String::as_str)?;
    let optional = |value: Option<f64>| value.map_or("-".into(), digits);
    let loss = f.compared_loss.map_or("not finite".into(), loss_text);
    Ok([
        thousands(f.steps_per_submission as u64),
        digits(f.us_per_step.median),
        format!("{} to {}", digits(f.us_per_step.min), digits(f.us_per_step.max)),
        digits(f.us_per_model_step),
        optional(f.recording_us_per_step),
        optional(f.gpu_us_per_step),
        format!("{:.2}", f.first_step_seconds),
        f.speedup.map_or("-".into(), |speed| format!("{}x", digits(speed))),
        if f.agree { loss } else { format!("{loss} differs") },
        if f.verified { thousands(f.steps) } else { "not verified".into() },
    ])
}

/// A number with three digits or more.
pub(super) fn digits(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let whole = value.round() as u64;
    match value {
        100.0.. => thousands(whole),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The table for a terminal.
pub(super) fn text(heading: &Heading, bench: &Bench) -> String {
    let columns = heading.columns();
    let rows: Vec<_> = bench.rows.iter().map(|row| (row.way.name(), cells(row))).collect();
    let length = |text: &String| text.chars().count();
    let mut widths = columns.clone().map(|head| head.iter().map(length).max().unwrap_or(0));
    for (name, cells) in &rows {
        widths[0] = widths[0].max(length(name));
        for (width, cell) in widths[1..].iter_mut().zip(cells.iter().flatten()) {
            *width = (*width).max(length(cell));
        }
    }
    let mut out = format!("{}\n\n", heading.lines().join("\n"));
    let line = |name: &str, cells: &[String]| {
        let mut line = format!("{name:<width$}", width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths[1..]) {
            let _ = write!(line, "  {cell:>width$}");
        }
        line + "\n"
    };
    for i in 0..2 {
        out += &line("", &columns.each_ref().map(|head| head[i].clone())[1..]);
    }
    for (name, cells) in &rows {
        match cells {
            Ok(cells) => out += &line(name, cells),
            Err(reason) => out += &line(&format!("{name:<width$}  {reason}", width = widths[0]), &[]),
        }
    }
    out + "\n" + &heading.notes().join("\n")
}

/// The table for a page.
pub(super) fn markdown(heading: &Heading, bench: &Bench) -> String {
    let columns = heading.columns().map(|head| head.join(" ").trim().to_string());
    let mut out =
        format!("{}\n\n| {} |\n|---|{}\n", heading.lines().join("\\\n"), columns.join(" | "), "--:|".repeat(10));
    for row in &bench.rows {
        let cells = cells(row).unwrap_or_else(|reason| {
            let mut cells: [String; 10] = Default::default();
            cells[0] = reason.replace('|', "\\|").replace('\n', " ");
            cells
        });
        let _ = writeln!(out, "| {} | {} |", row.way.name(), cells.join(" | "));
    }
    out + "\n" + &heading.notes().join("\n")
}

/// The object of `--json`.
pub(super) fn json(heading: &Heading, bench: &Bench) -> Value {
    let row = |row: &Row| {
        let (figures, error) = match &row.outcome {
            Ok(figures) => (json!(figures), Value::Null),
            Err(reason) => (json!({}), json!(reason)),
        };
        let mut object = json!({ "name": row.way.name(), "models": row.models, "error": error });
        if let (Some(object), Value::Object(figures)) = (object.as_object_mut(), figures) {
            object.extend(figures);
        }
        object
    };
    let mut object = json!(heading);
    object["rows"] = bench.rows.iter().map(row).collect();
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_more() {
        for (value, want) in [
            (0.0625, "0.062"),
            (2.71, "2.71"),
            (27.18, "27.2"),
            (271.8, "272"),
            (27_182.8, "27,183"),
            (1_000_001.0, "1,000,001"),
        ] {
            assert_eq!(digits(value), want, "{value}");
        }
    }
}
