//! `fori completions` and `fori man`: what a shell and `man` want to know of the command line.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use super::output::{print, say};
use crate::error::{Error, Result};

/// Arguments of `fori completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fori completions bash > ~/.local/share/bash-completion/completions/fori\n  fori completions zsh > ~/.zfunc/_fori\n  fori completions fish > ~/.config/fish/completions/fori.fish"
)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "fori", &mut text);
    print(String::from_utf8_lossy(&text).trim_end())
}

/// Arguments of `fori man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori man train | man -l -\n  fori man --out ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// The command to print the page of; left out, that of fori itself.
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Option<String>,
    /// Write the pages of all commands into a folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints a page, or writes them all.
pub(super) fn man(args: &ManArgs) -> Result<()> {
    let pages = pages();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        for page in &pages {
            let path = folder.join(format!("{}.1", name(page)));
            std::fs::write(&path, text(page)?).map_err(|e| Error::io(&path, e))?;
        }
        say(format_args!("{} pages in {}", pages.len(), folder.display()));
        return Ok(());
    }
    let wanted = args.command.as_ref().map_or("fori".into(), |command| format!("fori-{command}"));
    let Some(page) = pages.iter().find(|page| name(page) == wanted) else {
        let names: Vec<_> = pages.iter().filter_map(|page| name(page).strip_prefix("fori-")).collect();
        let text = format!("unknown command {}: expected one of {}", &wanted["fori-".len()..], names.join(", "));
        return Err(Error::Usage(text));
    };
    print(text(page)?.trim_end())
}

/// fori and its commands, each under the name of its page.
fn pages() -> Vec<clap::Command> {
    let mut all = super::command().disable_help_subcommand(true);
    all.build();
    let commands: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    std::iter::once(all).chain(commands).collect()
}

fn name(page: &clap::Command) -> &str {
    page.get_display_name().unwrap_or_else(|| page.get_name())
}

fn text(page: &clap::Command) -> Result<String> {
    let mut text = Vec::new();
    Man::new(page.clone()).render(&mut text).map_err(|e| Error::io("the manual page", e))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
