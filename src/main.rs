//! The `fori` command.

fn main() -> std::process::ExitCode {
    fori::cli::main()
}
