//! `fori train --live`: the run in a window of the terminal. A thread of its own draws and listens to the keys, so that the
//! loop only hands over what it was told.

mod draw;
mod state;
mod terminal;

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::output::say;
use crate::score::Scores;
pub(super) use state::About;
use state::State;
use terminal::Window;

/// The time between two pictures.
const FRAME: Duration = Duration::from_millis(100);

/// The view of a run.
pub(super) struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the loop and the thread share.
struct Shared {
    state: Mutex<State>,
    /// Set by the loop at its end.
    done: AtomicBool,
    /// Set by the user, as by a signal.
    stop: &'static AtomicBool,
}

impl Shared {
    /// The state is whole at any time: a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Opens the window for a run from step `first` on. `None`, with a note, where there is no terminal for it.
    pub(super) fn open(about: About, first: u64, stop: &'static AtomicBool) -> Option<Self> {
        let refuse = |why: &str| {
            say(format_args!("note: --live shows nothing: {why}"));
            None
        };
        if !std::io::stderr().is_terminal() || !std::io::stdin().is_terminal() {
            return refuse("stderr and stdin are no terminal");
        }
        if std::env::var("TERM").is_ok_and(|name| name == "dumb") {
            return refuse("the terminal is dumb: TERM says so");
        }
        let window = match Window::open() {
            Ok(window) => window,
            Err(error) => return refuse(&error.to_string()),
        };
        let state = Mutex::new(State::new(about, first));
        let shared = Arc::new(Shared { state, done: AtomicBool::new(false), stop });
        let thread = std::thread::Builder::new().name("live".into());
        let same = Arc::clone(&shared);
        match thread.spawn(move || show(window, &same)) {
            Ok(thread) => Some(Self { shared, thread: Some(thread) }),
            Err(error) => refuse(&error.to_string()),
        }
    }

    /// Takes losses as [`crate::run::Observer::losses`] does, and the learning rate of the last of them.
    pub(super) fn losses(&self, first_step: u64, losses: &[f32], models: usize, learning_rate: f64) {
        let mut state = self.shared.state();
        state.losses(first_step, losses, models, Instant::now());
        state.learning_rate = learning_rate;
    }

    /// Takes the scores of the models over the validation rows; the best loss is shown.
    pub(super) fn validated(&self, step: u64, scores: &[Scores]) {
        let best = scores.iter().map(Scores::loss).reduce(f64::min);
        #[expect(clippy::cast_possible_truncation, reason = "for a chart")]
        self.shared.state().validation.add(step, best.map(|loss| loss as f32));
    }

    /// Takes a notice, which is said again when the window is closed.
    pub(super) fn notice(&self, text: &str) {
        self.shared.state().notices.push(text.into());
    }

    /// Closes the window.
    pub(super) fn close(mut self) {
        self.end();
        for text in &self.shared.state().notices {
            say(format_args!("note: {text}"));
        }
    }

    fn end(&mut self) {
        self.shared.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// Draws until the run is over.
fn show(mut window: Window, shared: &Shared) {
    let mut drawn = Instant::now() - FRAME;
    while !shared.done.load(Ordering::Relaxed) {
        if drawn.elapsed() >= FRAME {
            let state = shared.state().clone();
            if window.draw(&state).is_err() {
                return;
            }
            drawn = Instant::now();
        }
        // Short, so that the end of the run is not waited for.
        match event::poll(Duration::from_millis(25)) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(_) => return,
        }
        if let Ok(Event::Key(key)) = event::read()
            && asks_to_end(key)
        {
            if shared.stop.swap(true, Ordering::Relaxed) {
                window.close();
                // As after a second signal.
                std::process::exit(130);
            }
            shared.state().stopping = true;
        }
    }
}

fn asks_to_end(key: KeyEvent) -> bool {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (control_c || matches!(key.code, KeyCode::Char('q' | 'Q')))
}
