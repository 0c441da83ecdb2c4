//! The terminal as it is while the view is open, and as it was before, whatever happens.

use std::io::{Result, Stderr, stderr};
use std::sync::{Mutex, Once, TryLockError};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor::Show, execute};

use super::draw::draw;
use super::state::State;

/// Whether the terminal is taken; locked while it is written to.
static TAKEN: Mutex<bool> = Mutex::new(false);

/// A terminal that shows nothing but the view.
pub(super) struct Window {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

impl Window {
    /// Takes the terminal of stderr.
    pub(super) fn open() -> Result<Self> {
        restore_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(stderr()))?;
        enable_raw_mode()?;
        *TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        let window = Self { terminal };
        // `Terminal::clear` would ask the terminal where its cursor is, which not every one answers.
        execute!(stderr(), EnterAlternateScreen, Clear(ClearType::All))?;
        Ok(window)
    }

    /// Shows a state, unless the terminal was given back.
    pub(super) fn draw(&mut self, state: &State) -> Result<()> {
        let taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *taken { self.terminal.draw(|frame| draw(frame, state)).map(|_| ()) } else { Ok(()) }
    }

    /// Gives the terminal back.
    pub(super) fn close(&mut self) {
        restore();
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.close();
    }
}

/// Gives the terminal back, once.
fn restore() {
    let mut taken = match TAKEN.try_lock() {
        Ok(taken) => taken,
        Err(TryLockError::Poisoned(taken)) => taken.into_inner(),
        // This thread panics while it draws, or the other is about to end its picture.
        Err(TryLockError::WouldBlock) => return give_back(),
    };
    if std::mem::take(&mut *taken) {
        give_back();
    }
}

fn give_back() {
    // Nobody is left to tell when a terminal is gone.
    let _ = execute!(stderr(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Lets the message of a panic appear on the terminal as it was.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}
