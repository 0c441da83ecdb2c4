use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};

use super::super::{Cli, Command as Subcommand, command, refuse};
use super::*;
use crate::config::TrainConfig;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const EXAMPLE: &str = include_str!("../../../examples/experiment.toml");

/// The config of `fori train e.toml FLAGS`, by the path that `main` takes.
fn config(text: &str, flags: &str) -> Result<TrainConfig> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("e.toml");
    std::fs::write(&path, text).expect("a file");
    let words = ["fori".as_ref(), "train".as_ref(), path.as_os_str()].map(OsString::from);
    let args: Vec<_> = words.into_iter().chain(flags.split_whitespace().map(OsString::from)).collect();
    let (all, experiment) = expand(&args, &command())?;
    let experiment = experiment.expect("it is named");
    let matches = match command().try_get_matches_from(all) {
        Ok(matches) => matches,
        Err(error) => {
            let with = |entries: &[OsString]| command().try_get_matches_from(join(&args, entries)).err();
            return Err(experiment.explain(&error, with).unwrap_or_else(|| Error::Usage(error.to_string())));
        }
    };
    let cli = Cli::from_arg_matches(&matches).expect("the flags fit their struct");
    let Subcommand::Train(train) = cli.command else { panic!("expected train") };
    refuse(&matches).and_then(|()| train.config()).map_err(|error| experiment.translate(error))
}

fn refused(text: &str, flags: &str) -> String {
    config(text, flags).map(|config| panic!("{text:?} is taken as {config:?}")).unwrap_or_else(|e| e.to_string())
}

#[test]
fn every_flag_is_a_key_with_the_name_of_its_field() {
    let command = command();
    let train = command.find_subcommand("train").expect("fori train");
    assert!(keys(train).count() > 60, "keys");
    for (key, arg) in keys(train) {
        // The entries of a file give way to flags by that name.
        assert_eq!(arg.get_id().as_str(), key, "name of the field of a flag");
        assert!(arg.get_help_heading().is_some(), "--{key} has no heading");
        assert!(arg.get_help().is_some(), "--{key} has no help");
    }
    let longs: Vec<_> = train.get_arguments().filter_map(clap::Arg::get_long).collect();
    let known = NOT_KEYS.iter().filter(|long| longs.contains(long)).count();
    assert_eq!(known, NOT_KEYS.len() - 1, "flags that are no keys, but for --help: {longs:?}");
    Cli::command().debug_assert();
}

/// The table of README: key, kind, default, the first sentence of the help.
fn table() -> String {
    let command = command();
    let train = command.find_subcommand("train").expect("fori train");
    let mut rows = vec!["| key | value | default | meaning |".to_owned(), "|---|---|---|---|".into()];
    for (key, arg) in keys(train) {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let (help, noted) = match help.split_once(" [default: ") {
            Some((help, noted)) => (help.to_owned(), noted.split(']').next().unwrap_or_default().to_owned()),
            None => (help, String::new()),
        };
        let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
        let switch = Kind::of(arg) == Kind::Switch;
        let default = if switch { "false".into() } else { default.unwrap_or(noted) };
        let ends = |at: &usize| help[at + 2..].starts_with(char::is_uppercase) || help[at + 2..].starts_with("--");
        let end = help.match_indices(". ").map(|(at, _)| at).find(ends).unwrap_or(help.len());
        let meaning = help[..end].trim_end_matches('.').replace('|', "\\|");
        rows.push(format!("| `{key}` | {} | {default} | {meaning} |", Kind::of(arg).describe()));
    }
    rows.join("\n") + "\n"
}

#[test]
fn readme_has_the_table_of_the_keys() {
    let readme = std::fs::read_to_string(README).expect("README.md").replace("\r\n", "\n");
    let table = table();
    if std::env::var("FORI_WRITE_README").is_ok_and(|v| v == "1") {
        let start = readme.find("| key | value |").expect("a table of keys");
        let end = readme[start..].find("\n\n").map_or(readme.len(), |end| start + end + 1);
        std::fs::write(README, format!("{}{table}{}", &readme[..start], &readme[end..])).expect("README.md");
        return;
    }
    let stale =
        "the table of keys in README.md is stale: FORI_WRITE_README=1 cargo test --release --lib readme writes it";
    assert!(readme.contains(&table), "{stale}");
}

#[test]
fn a_file_says_what_its_flags_say() {
    let flags = |flags: &str| {
        let words = ["fori", "train"].into_iter().chain(flags.split_whitespace());
        let cli = Cli::try_parse_from(words).expect("the flags are possible");
        let Subcommand::Train(train) = cli.command else { panic!("expected train") };
        train.config().expect("a config")
    };
    for (text, same) in [
        ("", ""),
        ("hidden = []", "--hidden none"),
        ("hidden = [8, 0x10, 1_0]\nsteps = 7", "--hidden 8,16,10 --steps 7"),
        ("hidden = \"8,16\"", "--hidden 8,16"),
        ("checked = true\nlayer_norm = false", "--checked"),
        ("learning_rate = 1e-2\nb1 = 0\noptimizer = 'lion'", "--learning-rate 1e-2 --b1 0 --optimizer lion"),
        ("iters_per_submit = 7", "--iters-per-submit 7"),
        ("iters_per_submit = \"auto\"", ""),
        ("seed = 18446744073709551615", "--seed 18446744073709551615"),
        ("sweep = { b2 = [0.5, 0.6], b1 = 0.1 }", "--sweep b2=0.5,0.6 --sweep b1=0.1"),
        ("[sweep]\nb2 = [0.5, 0.6]\nb1 = [0.1]", "--sweep b2=0.5,0.6 --sweep b1=0.1"),
        ("sweep = [\"b2=0.5,0.6\"]", "--sweep b2=0.5,0.6"),
        (
            "schedule = \"piecewise\"\nboundaries = { 20 = 0.5, 10 = 1e-1 }",
            "--schedule piecewise --boundaries 20=0.5,10=0.1",
        ),
        ("data = \"/t.csv\"\ntarget = [\"a\", \"b\"]\nexclude = []", "--data /t.csv --target a,b"),
        ("data = \"/t.csv\"\ntarget = [\"a,b\", 'c\"']", "--data /t.csv --target \"a,b\",\"c\"\"\""),
        ("data = \"/t.csv\"\ntarget = \"a,b\"\nvalidation = \"0.3\"", "--data /t.csv --target a,b --validation 0.3"),
        ("data = \"/t.csv\"\ntarget = \"a\"\nvalidation = \"/v.csv\"", "--data /t.csv --target a --validation /v.csv"),
    ] {
        assert_eq!(config(text, "").unwrap_or_else(|e| panic!("{text:?}: {e}")), flags(same), "{text:?}");
    }
}

#[test]
fn flags_win() {
    let text = "steps = 7\nseed = 3\nhidden = [8]\nlearning_rate = 0.5\nsweep = { b1 = [0.1, 0.2], b2 = [0.3] }";
    let bare = "steps = 7\nseed = 3\nhidden = [8]\nlearning_rate = 0.5\n";
    let file = config(text, "").expect("a config");
    for (flags, text, want) in [
        ("--steps 9", text, TrainConfig { steps: 9, ..file.clone() }),
        ("--hidden none --checked", text, TrainConfig { hidden: vec![], checked: true, ..file.clone() }),
        ("--sweep eps=0.1", text, TrainConfig { sweep: vec![("eps".into(), vec![0.1])], ..file.clone() }),
    ] {
        assert_eq!(config(text, flags).expect("a config"), want, "{flags}");
    }
    let config_of = |flags| config(text, flags).expect("a config");
    assert_eq!(config_of("--b1 0.7").sweep, [("b2".to_owned(), vec![0.3])], "a flag and a sweep of the file");
    assert_eq!(config_of("--b1 0.7").hyper.b1, 0.7, "the flag");
    let swept = config(bare, "--sweep learning-rate=0.1,0.2").expect("a config");
    assert_eq!(swept.sweep[0].1, [0.1, 0.2], "a sweep and a key of the file");
    let twice = refused(bare, "--steps 1 --steps 2");
    assert!(twice.contains("multiple times"), "a flag given twice says {twice}");
}

#[test]
fn messages_name_file_line_and_key() {
    for (text, flags, wants) in [
        (
            "steps = 1\n\nlearning_rte = 1",
            "",
            &["e.toml, line 3: unknown key \"learning_rte\": did you mean \"learning_rate\"?"][..],
        ),
        ("learning-rate = 1", "", &["line 1: unknown key \"learning-rate\": did you mean \"learning_rate\"?"]),
        ("colour = 1", "", &["unknown key \"colour\"", "the name of a flag"]),
        ("resume = \"c\"", "", &["line 1: \"resume\" cannot be in an experiment file", "--resume"]),
        ("save_experiment = \"c\"", "", &["\"save_experiment\" cannot be"]),
        ("steps = 1\nsteps = 2", "", &["e.toml, line 2: this is no TOML: duplicate key"]),
        ("steps = 1\nseed = ", "", &["e.toml, line 2: this is no TOML: "]),
        ("steps = \"many\"", "", &["line 1: steps = \"many\": expected a whole number"]),
        ("steps = 1e4", "", &["line 1: steps = 1e4: expected a whole number from 1 to 4000000000"]),
        ("steps = 0", "", &["line 1: steps = 0: expected a whole number from 1"]),
        ("\nsteps = [1]", "", &["line 2: steps = [1]: expected a whole number"]),
        ("learning_rate = -1", "", &["line 1: learning_rate = -1: ", "0 or more"]),
        ("learning_rate = true", "", &["line 1: learning_rate = true: expected a number"]),
        ("hidden = [1, \"a\"]", "", &["hidden = [1, \"a\"]: expected widths, as [64, 64]"]),
        ("hidden = [0]", "", &["hidden = [0]: expected widths of 1 or more"]),
        ("activation = 3", "", &["line 1: activation = 3: ", "expected one of", "gelu"]),
        ("backend = \"cuda\"", "", &["line 1: backend = \"cuda\": expected one of vulkan, metal, dx12, gl"]),
        ("data = 3", "", &["line 1: data = 3: expected a path"]),
        ("data = \"\"", "", &["line 1: data = \"\": expected a value"]),
        ("checked = \"yes\"", "", &["line 1: checked = \"yes\": expected true or false"]),
        ("[optimizer]\nb1 = 1", "", &["line 1: optimizer = a table: expected a name"]),
        ("sweep = { b1 = [\"a\"] }", "", &["line 1: sweep = ", "expected numbers for each name"]),
        ("sweep = { b7 = [1] }", "", &["line 1: sweep = ", "unknown hyperparameter `b7`"]),
        ("steps = 1979-05-27", "", &["line 1: steps = 1979-05-27: expected a whole number"]),
        ("\ntarget = [\"y\"]", "", &["e.toml, line 2: target needs --data"]),
        ("image = \"a.png\"\ndata = \"t\"", "", &["cannot be used with", "data in line 2", "image in line 1"]),
        ("inputs = 3", "--data t", &["cannot be used with", "inputs in line 1", "--data"]),
        ("min_delta = 0.5\nsteps = 3", "", &["line 1: min_delta needs --patience"]),
        ("steps = 3\nalpha = 0.5", "", &["alpha has no meaning for --schedule constant", "alpha in line 2"]),
        ("fourier_features = 3", "", &["fourier_features goes with --encoding fourier", "fourier_features in line 1"]),
        ("sweep = { b1 = [0.1] }\nb1 = 0.2", "", &["b1 and sweep b1=... contradict", "b1 in line 2, sweep in line 1"]),
    ] {
        let said = refused(text, flags);
        for want in wants {
            assert!(said.contains(want), "{text:?} with `{flags}` lacks {want:?}: {said}");
        }
    }
    let said = refused("steps = 1", "--target y");
    assert!(said.contains("--data") && !said.contains("line"), "a flag that needs another says {said}");
}

#[test]
fn damaged_files_are_refused_with_a_line_or_say_an_experiment() {
    const HOSTILE: [&str; 14] =
        ["\"", "[", "]", "{", "\n", "\0", "=", "-1", "1e999", "nan", "true", "é", "99999999999999999999", "'''"];
    let mut state = 7_u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % bound.max(1)
    };
    let (mut taken, mut refused) = (0, 0);
    for round in 0..600 {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        for _ in 0..=below(2) {
            let at = below(text.len());
            match below(4) {
                0 => text.truncate(at),
                1 => drop(text.remove(at)),
                2 => text[at] = char::from(u8::try_from(32 + below(95)).expect("a character")),
                _ => drop(text.splice(at..at, HOSTILE[below(HOSTILE.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        match config(&text, "") {
            Ok(_) => taken += 1,
            Err(error) => {
                refused += 1;
                let said = error.to_string();
                let placed = said.contains("e.toml, line ") || said.contains("e.toml: ") && said.contains(" in line ");
                assert!(placed, "round {round} names no line: {said}\n{text}");
            }
        }
    }
    assert!(taken > 50 && refused > 50, "{taken} taken and {refused} refused: the damage is one-sided");
}
