//! What a network has learned, as a picture.

mod confusion;
mod curve;
mod image;
mod map;
mod rows;
mod scatter;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::checkpoint::Checkpoint;
use crate::cli::chart::{MAX_LINES, Target};
use crate::cli::output::say;
use crate::cli::which::{self, WhichArgs};
use crate::config::Task;
use crate::data::schema::{Encoding, Targets};
use crate::error::{Error, Result};
use crate::network::Predictor;
use rows::Subject;

const HEADING: &str = "What a checkpoint has learned";

/// What is drawn of a checkpoint, and with which rows.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct LearnedArgs {
    /// Draw it with the rows of this table, or beside this image [default: those that it was validated with, else trained on]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The labels that go with images in an IDX file.
    #[arg(long, value_name = "FILE", requires = "data")]
    labels: Option<PathBuf>,
    /// What to draw [default: the first that applies]
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    which: WhichArgs,
}

/// What can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Of an image: what was learned beside the original, as PNG.
    Image,
    /// Of one input that is a number: the predictions over it, and the rows as points.
    Curve,
    /// Of two inputs that are numbers: the predicted classes, or the one predicted number in colors, and the rows as points.
    Map,
    /// Of labels and classes: how often each was taken for each.
    Confusion,
    /// Of numbers: those that were predicted over those that are true.
    Scatter,
}

impl Kind {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Those that apply, the best first.
    fn of(predictor: &Predictor, task: &Task) -> Vec<Self> {
        let schema = predictor.schema();
        let numbers = schema.inputs.iter().all(|input| matches!(input.encoding, Encoding::Number { .. }));
        let one_answer = match &schema.targets {
            Targets::Numbers { columns } => columns.len() == 1,
            Targets::Labels { columns } => columns.len() == 1,
            Targets::Classes { .. } => true,
        };
        // More cannot be told apart.
        let numbers = numbers && schema.targets.outputs() <= MAX_LINES;
        let judged = if matches!(schema.targets, Targets::Numbers { .. }) { Self::Scatter } else { Self::Confusion };
        let applies = [
            (Self::Image, matches!(task, Task::Image(_))),
            (Self::Curve, numbers && schema.inputs.len() == 1),
            (Self::Map, numbers && schema.inputs.len() == 2 && one_answer),
            (judged, true),
        ];
        applies.into_iter().filter(|(_, applies)| *applies).map(|(kind, _)| kind).collect()
    }
}

/// Draws a checkpoint.
pub(super) fn run(path: &Path, args: &LearnedArgs, title: Option<&str>, target: &Target) -> Result<()> {
    let inputs: Vec<_> = [path].into_iter().chain(args.data.as_deref()).collect();
    which::refuse_overwriting("--out", &target.path, &inputs)?;
    let checkpoint = Checkpoint::read(path)?;
    let named = which::name_checkpoint(path);
    let predictor = Predictor::of(&checkpoint, args.which.which()).map_err(&named)?;
    let config = checkpoint.experiment.config(path.to_path_buf()).map_err(&named)?;
    which::refuse_overwriting_data("--out", &target.path, &config)?;
    let kind = kind(args.kind, &Kind::of(&predictor, &config.task))?;
    let what = which::text(&predictor.models, which::models(&checkpoint));
    if kind == Kind::Image {
        let seen = image::draw(&predictor, &config.task, args.data.as_deref(), target)?;
        say(format_args!("drew {what}: {seen}"));
        return Ok(());
    }
    let subject = Subject::of(&checkpoint, predictor, &config, args)?;
    let svg = match kind {
        Kind::Curve => curve::draw(&subject, title)?,
        Kind::Map => map::draw(&subject, title)?,
        Kind::Confusion => confusion::draw(&subject, title)?,
        _ => scatter::draw(&subject, title)?,
    };
    target.write_svg(&svg)?;
    say(format_args!("drew {what} {}", subject.rows(matches!(kind, Kind::Curve | Kind::Map))));
    Ok(())
}

/// The kind that was asked for, if it applies, else the best that does.
fn kind(wanted: Option<Kind>, apply: &[Kind]) -> Result<Kind> {
    match wanted {
        Some(kind) if !apply.contains(&kind) => {
            let names: Vec<_> = apply.iter().map(|kind| kind.name()).collect();
            let text =
                format!("--kind {} does not apply to this network: expected {}", kind.name(), names.join(" or "));
            Err(Error::Usage(text))
        }
        Some(kind) => Ok(kind),
        None => Ok(apply[0]),
    }
}
