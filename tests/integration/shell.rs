//! `fori completions` and `fori man`.

use crate::cli::Dir;

/// All commands, as `fori --help` lists them.
fn commands(dir: &Dir) -> Vec<String> {
    let help = dir.run("--help").exits(0).stdout.clone();
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of commands");
    let names =
        list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let names: Vec<_> = names.map(String::from).filter(|name| name != "help").collect();
    assert!(names.iter().any(|name| name == "train") && names.len() >= 8, "commands: {names:?}");
    names
}

#[test]
fn completions_know_every_command_and_its_flags() {
    let dir = Dir::new();
    let commands = commands(&dir);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = dir.run(&format!("completions {shell}")).exits(0).stdout.clone();
        for name in commands.iter().map(String::as_str).chain(["learning-rate", "resume", "smooth"]) {
            assert!(text.contains(name), "{shell} knows {name}");
        }
    }
    dir.run("completions tcsh").exits(2).says(&["bash", "zsh", "fish"]);
}

#[test]
fn every_command_has_a_page() {
    let dir = Dir::new();
    let commands = commands(&dir);
    dir.run("man --out pages/man1").exits(0);
    let page = |name: &str| dir.read(&format!("pages/man1/{name}.1"));
    for name in &commands {
        assert!(page("fori").contains(&format!("fori\\-{name}(1)")), "fori.1 refers to {name}");
        let text = page(&format!("fori-{name}"));
        assert!(text.contains(".SH SYNOPSIS") && text.contains(".SH OPTIONS"), "the page of {name}: {text}");
        let printed = dir.run(&format!("man {name}")).exits(0).stdout.clone();
        assert_eq!(printed.trim_end(), text.trim_end(), "the printed page of {name}");
    }
    assert!(page("fori-train").contains("\\-\\-learning\\-rate"), "flags of train");
    dir.run("man").exits(0).prints(&[".TH fori 1"]);
    dir.run("man nope").exits(2).says(&["unknown command nope", "train"]);
}
