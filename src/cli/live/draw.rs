//! The picture of the live view.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, Gauge, GraphType, Paragraph, Row, Sparkline, Table};

use super::state::State;
use crate::cli::output::{loss_text, thousands};

const FAINT: Style = Style::new().fg(Color::DarkGray);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let [head, gauge, middle, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Length(1), Constraint::Min(6), Constraint::Length(2)])
            .areas(frame.area());
    let about = &state.about;
    frame.render_widget(
        Paragraph::new(vec![Line::styled(about.network.as_str(), STRONG), Line::raw(about.place.as_str())]),
        head,
    );
    draw_gauge(frame, gauge, state);
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(42)]).areas(middle);
    // A narrow window has the chart alone.
    let (left, right) = if middle.width < 80 { (middle, None) } else { (left, Some(right)) };
    draw_chart(frame, left, state);
    if let Some(right) = right {
        let figures = Constraint::Length(9);
        let [upper, lower] = Layout::vertical([figures, Constraint::Fill(1)]).areas(right);
        draw_figures(frame, upper, state);
        if about.models.len() > 1 { draw_leaders(frame, lower, state) } else { draw_visits(frame, lower, state) }
    }
    let keys = if state.stopping {
        "ending after the steps under way; q once more ends at once"
    } else {
        "q or Ctrl-C ends the run, saves and sums up"
    };
    let notice = state.notices.last().map_or(String::new(), |text| format!("note: {text}"));
    frame.render_widget(Paragraph::new(vec![Line::raw(notice), Line::styled(keys, FAINT)]), foot);
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn draw_gauge(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let (step, steps) = (state.step, state.about.steps.max(1));
    let left = state.steps_per_second().map(|speed| (steps.saturating_sub(step)) as f64 / speed);
    let left = left.map_or(String::new(), |seconds| format!(", {} left", duration(seconds)));
    let label = format!("{} of {} steps{left}", thousands(step), thousands(steps));
    let gauge = Gauge::default().ratio((step as f64 / steps as f64).clamp(0.0, 1.0)).label(label);
    frame.render_widget(gauge.gauge_style(Style::new().fg(Color::Blue).bg(Color::DarkGray)), area);
}

fn draw_chart(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let several = state.about.models.len() > 1;
    let curves = [
        ("median", &state.median, Color::DarkGray, GraphType::Line),
        (if several { "best" } else { "loss" }, &state.best, Color::Cyan, GraphType::Line),
        ("validation", &state.validation, Color::Yellow, GraphType::Scatter),
    ];
    let logs = || curves.iter().flat_map(|(_, points, ..)| points.logs.iter().map(|(_, log)| *log));
    let (low, high) = logs().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), log| (l.min(log), h.max(log)));
    let title = Block::bordered().title(" loss, logarithmic ");
    if low > high {
        let text = "waiting for the first steps: kernels are compiled, which can take a while on a software adapter";
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }).block(title), area);
        return;
    }
    let room = ((high - low) * 0.05).max(0.02);
    let (low, high) = (low - room, high + room);
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let (from, to) = (state.first as f64, (state.step.max(state.first + 1)) as f64);
    let sets = curves.iter().filter(|(_, points, ..)| !points.logs.is_empty()).map(|(name, points, color, kind)| {
        let marker = if *kind == GraphType::Scatter { Marker::Dot } else { Marker::Braille };
        Dataset::default().name(*name).marker(marker).graph_type(*kind).style(*color).data(&points.logs)
    });
    #[expect(clippy::cast_possible_truncation, reason = "losses are 32-bit numbers")]
    let text = |log: f64| short(10.0_f64.powf(log) as f32);
    let y = [low, low + (high - low) / 3.0, low + (high - low) * 2.0 / 3.0, high].map(text);
    let x = [state.first, u64::midpoint(state.first, state.step), state.step].map(thousands);
    let chart = Chart::new(sets.collect())
        .block(title)
        .x_axis(Axis::default().bounds([from, to]).labels(x).style(FAINT))
        .y_axis(Axis::default().bounds([low, high]).labels(y).style(FAINT));
    frame.render_widget(chart, area);
}

fn draw_figures(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let finite = || state.losses.iter().copied().filter(|loss| loss.is_finite());
    let speed = state.steps_per_second();
    let last = state.visits.back().map(|(.., waited)| waited.as_secs_f64());
    let chunk = state.visits.iter().rev().take(2).map(|visit| visit.1).collect::<Vec<_>>();
    let chunk = chunk.first().map(|now| now - chunk.get(1).unwrap_or(&state.first));
    let validation = state.validation.logs.last();
    #[expect(clippy::cast_possible_truncation, reason = "losses are 32-bit numbers")]
    let rows = [
        ("loss", finite().reduce(f32::min).map_or("-".into(), loss_text)),
        ("validation", validation.map_or("-".into(), |(_, log)| loss_text(10.0_f64.powf(*log) as f32))),
        (
            "learning rate",
            if state.learning_rate.is_finite() { format!("{:.4e}", state.learning_rate) } else { "-".into() },
        ),
        ("steps per second", speed.map_or("-".into(), |s| format!("{s:.0}"))),
        ("µs per step", speed.map_or("-".into(), |s| format!("{:.1}", 1e6 / s))),
        (
            "last chunk",
            last.zip(chunk).map_or("-".into(), |(s, n)| format!("{} steps, {:.0} ms", thousands(n), s * 1e3)),
        ),
        ("elapsed", duration(state.started.elapsed().as_secs_f64())),
    ];
    let lines =
        rows.map(|(name, value)| Line::from(vec![Span::styled(format!("{name:<17}"), FAINT), Span::raw(value)]));
    frame.render_widget(Paragraph::new(lines.to_vec()).block(Block::bordered().title(" now ")), area);
}

/// The time between visits to the host, the newest at the right.
fn draw_visits(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let inner = usize::from(area.width.saturating_sub(2));
    let times: Vec<_> =
        state.visits.iter().map(|(.., waited)| u64::try_from(waited.as_micros()).unwrap_or(u64::MAX)).collect();
    // The first waits for the compiler, and would dwarf the others.
    let shown = if times.len() > 1 { &times[1..] } else { &[] };
    let shown = &shown[shown.len().saturating_sub(inner)..];
    let most =
        shown.iter().max().map_or(String::new(), |&us| format!(" time per chunk, up to {} ms ", us.div_ceil(1000)));
    frame.render_widget(Sparkline::default().data(shown).style(Color::Blue).block(Block::bordered().title(most)), area);
}

fn draw_leaders(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let room = usize::from(area.height.saturating_sub(3));
    let row = |model: usize| {
        let loss = state.losses[model];
        let loss = if loss.is_finite() { loss_text(loss) } else { "diverged".into() };
        Row::new([model.to_string(), loss, state.about.models.get(model).cloned().unwrap_or_default()])
    };
    let rows: Vec<_> = state.leaders(room).into_iter().map(row).collect();
    let widths = [Constraint::Length(5), Constraint::Length(10), Constraint::Fill(1)];
    let title = format!(" best of {} models ", state.about.models.len());
    let table = Table::new(rows, widths).header(Row::new(["model", "loss", state.about.names.as_str()]).style(FAINT));
    frame.render_widget(table.block(Block::bordered().title(title)), area);
}

/// A number of three digits.
fn short(value: f32) -> String {
    match value {
        1e-3..1e4 => format!("{value:.3}").chars().take(6).collect::<String>().trim_end_matches('.').to_owned(),
        _ => format!("{value:.1e}"),
    }
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let s = seconds.round() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", thousands(s / 3600), s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::state::About;
    use super::*;

    /// The view as text.
    fn seen(width: u16, height: u16, state: &State) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(frame, state)).expect("it draws");
        terminal.backend().to_string()
    }

    fn state(models: usize) -> State {
        let about = About {
            network: "[2, 64, 64, 1], 4417 parameters".into(),
            place: "executor recorded on an adapter".into(),
            steps: 20_000,
            names: "seed".into(),
            models: (0..models).map(|i| format!("({i})")).collect(),
        };
        let mut state = State::new(about, 0);
        for chunk in 0..40_u16 {
            let loss = |step: u16| 3.0 * (-f32::from(chunk * 100 + step) / 1000.0).exp();
            let losses: Vec<_> = (0..100).flat_map(|step| (0..models).map(move |m| (m, step))).collect();
            #[expect(clippy::cast_precision_loss, reason = "few models")]
            let losses: Vec<_> = losses.into_iter().map(|(m, step)| loss(step) * (1.0 + m as f32)).collect();
            let now = state.started + std::time::Duration::from_millis(100) * u32::from(chunk + 1);
            state.losses(u64::from(chunk) * 100, &losses, models, now);
        }
        state.learning_rate = 1e-3;
        state
    }

    #[test]
    fn a_run_of_one_model_shows_its_figures() {
        let mut one = state(1);
        one.validation.add(4000, Some(0.25));
        one.notices.push("the adapter finished 993 of the 1000 steps".into());
        let text = seen(110, 30, &one);
        for want in [
            "[2, 64, 64, 1]",
            "executor recorded",
            "4,000 of 20,000 steps, 16 s left",
            "loss, logarithmic",
            "validation",
            "0.250000",
            "1.0000e-3",
            "1000",
            "100 steps, 100 ms",
            "time per chunk",
            "note: the adapter",
            "q or Ctrl-C",
        ] {
            assert!(text.contains(want), "the view lacks {want:?}:\n{text}");
        }
    }

    #[test]
    fn an_ensemble_shows_its_leaders() {
        let mut many = state(30);
        many.losses[0] = f32::NAN;
        many.stopping = true;
        let text = seen(110, 30, &many);
        for want in ["best of 30 models", "seed", "(1)", "(2)", "median", "ending after the steps"] {
            assert!(text.contains(want), "the view lacks {want:?}:\n{text}");
        }
        assert!(!text.contains("(0)"), "a model that diverged does not lead:\n{text}");
    }

    #[test]
    fn no_window_is_too_small_and_no_run_too_young() {
        let young = State::new(About { models: vec![String::new()], ..About::default() }, 0);
        for (width, height) in [(1, 1), (3, 40), (200, 2), (79, 12), (80, 8), (300, 90)] {
            for state in [&young, &state(1), &state(3)] {
                seen(width, height, state);
            }
        }
        assert!(seen(110, 30, &young).contains("waiting for the first steps"), "before the first step");
    }

    #[test]
    fn numbers_are_short() {
        for (value, want) in [(0.012_34, "0.012"), (1.5, "1.500"), (1234.5, "1234.5"), (1e-7, "1.0e-7"), (3e9, "3.0e9")]
        {
            assert_eq!(short(value), want, "{value}");
        }
        for (seconds, want) in [(5.4, "5 s"), (65.0, "1 min 05 s"), (7322.0, "2 h 02 min")] {
            assert_eq!(duration(seconds), want, "{seconds}");
        }
    }
}
