//! The page that trains in a browser: what is in it, and what it does in headless Chromium.

use std::path::PathBuf;
use std::process::Command;

use safetensors::SafeTensors;
use serde_json::Value;

use crate::cli::Dir;
use crate::common::{assert_close, golden, path};

/// The plan inside a page.
fn plan_in(page: &str) -> Value {
    let start = page.find("id=\"plan\">").expect("a page has a plan") + "id=\"plan\">".len();
    let json = &page[start..start + page[start..].find("</script>").expect("an end of the plan")];
    serde_json::from_str(json).expect("the plan is JSON")
}

#[test]
fn a_page_is_whole_and_names_nothing_outside_itself() {
    let dir = Dir::new();
    dir.write("x&<y.csv", "a,b,y\n1,2,yes\n2,1,no\n3,4,yes\n4,3,no\n");
    let flags = "--target y --loss softmax_cross_entropy --hidden 4 --schedule cosine --steps 30";
    dir.run_with(
        &[&["web", "--data", "x&<y.csv", "--out", "p.html"][..], &flags.split(' ').collect::<Vec<_>>()].concat(),
    )
    .exits(0);
    let page = dir.read("p.html");
    let plan = plan_in(&page);
    assert_eq!(page.matches("</script>").count(), 2, "the ends of the plan and of the script");
    assert!(!page.contains("{{") && !page.contains("http"), "nothing is left to fill in or to fetch");
    assert!(page.contains("on x&amp;&lt;y.csv</h1>"), "the name of the file as text");
    assert_eq!(plan["map"]["kind"], "classes", "two inputs are drawn by class");
    let rates = plan["rates"].as_array().expect("learning rates");
    assert_eq!(rates.len(), 30, "a rate for each update");
    let names: Vec<_> = plan["tensors"].as_array().expect("tensors").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["layers.0.kernel", "layers.0.bias", "layers.1.kernel", "layers.1.bias"], "what is downloaded");
}

#[test]
fn what_a_page_cannot_train_is_refused() {
    let dir = Dir::new();
    dir.run("web --ensemble 2 --out p.html").exits(2).says(&["a page trains one model: leave out --ensemble"]);
    dir.run("web --out missing/p.html").exits(2).says(&["--out missing/p.html: there is no folder"]);
    assert!(dir.names().is_empty(), "nothing is written: {:?}", dir.names());
}

/// Node's modules with playwright-core, by `FORI_WEB_MODULES` or where `tests/run` puts them.
fn modules() -> Option<PathBuf> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/web");
    let modules = std::env::var_os("FORI_WEB_MODULES").map_or(default, PathBuf::from);
    if modules.join("node_modules/playwright-core").is_dir() {
        return Some(modules);
    }
    assert!(
        std::env::var_os("FORI_REQUIRE_PEERS").is_none(),
        "FORI_REQUIRE_PEERS is set and there is no playwright-core in {}: run tests/run",
        modules.display()
    );
    eprintln!("skipped: no playwright-core was found; tests/run brings it");
    None
}

#[test]
fn chromium_trains_the_curve_of_golden() {
    let Some(modules) = modules() else { return };
    let dir = Dir::new();
    dir.run("web --out p.html").exits(0);
    let output = Command::new("node")
        .arg(path("web/run.mjs"))
        .arg(dir.path("p.html"))
        .arg("500")
        .env("FORI_WEB_MODULES", modules)
        .output()
        .expect("node starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!(result["trouble"], "", "what the page says");
    assert_eq!(result["messages"], serde_json::json!([]), "what the console says");
    let losses: Vec<_> = result["losses"].as_array().expect("losses").iter().filter_map(Value::as_f64).collect();
    assert!(losses.len() >= 500, "{} losses of 500 steps", losses.len());
    let want = &golden("trajectory.safetensors")["loss_f64"];
    let count = losses.len().min(want.len());
    assert_close("losses in the browser", &losses[..count], &want[..count], 1e-4, 0.0);
    let bytes = dir.bytes("p.html.safetensors");
    let weights = SafeTensors::deserialize(&bytes).expect("the download is a safetensors file");
    assert_eq!(weights.tensor("layers.1.kernel").expect("a kernel").shape(), [64, 64], "shape of layers.1.kernel");
}
