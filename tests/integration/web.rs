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
    assert!(
        !page.contains("{{") && !page.contains("http://") && !page.contains("https://"),
        "nothing is left to fill in or to fetch"
    );
    assert!(page.contains("on x&amp;&lt;y.csv</h1>"), "the name of the file as text");
    assert_eq!(plan["map"]["kind"], "classes", "two inputs are drawn by class");
    assert_eq!(plan["map"]["classes"], serde_json::json!(["no", "yes"]), "the classes of the legend");
    let of_axis = |name: &str| plan["map"]["axes"][1][name].as_f64().expect("a number of an axis");
    let highest = of_axis("high") * of_axis("std") + of_axis("mean");
    assert!((highest - 4.0).abs() < 1e-6, "the axis of b ends at {highest}, its largest number is 4");
    assert_eq!(plan["map"]["rows"]["count"], 4, "the rows beside the map");
    let rates = plan["rates"].as_array().expect("learning rates");
    assert_eq!(rates.len(), 30, "a rate for each update");
    let names: Vec<_> = plan["tensors"].as_array().expect("tensors").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["layers.0.kernel", "layers.0.bias", "layers.1.kernel", "layers.1.bias"], "what is downloaded");
}

#[test]
fn a_page_trains_embeddings_without_a_map() {
    let dir = Dir::new();
    dir.write("t.csv", "a,x,y\nu,2,1\nv,1,0\nw,4,2\nu,3,1\n");
    dir.run("web --data t.csv --target y --categorical embedding --embedding-width 2 --hidden 4 --out p.html").exits(0);
    let plan = plan_in(&dir.read("p.html"));
    assert_eq!(plan["map"], Value::Null, "nothing is between two categories");
    let table = plan["tensors"].as_array().expect("tensors").last().expect("a tensor");
    assert_eq!(
        (&table["name"], &table["shape"]),
        (&"embeddings.0.embedding".into(), &serde_json::json!([3, 2])),
        "{table}"
    );
    let entries: Vec<_> = plan["train"]["ops"].as_array().expect("ops").iter().map(|op| &op["entry"]).collect();
    assert!(entries.contains(&&"embedding_update_op".into()), "{entries:?}");
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

/// What came of a page in Chromium after so many steps; a variable of the environment takes something from it.
fn open(dir: &Dir, page: &str, steps: u32, without: &str) -> Option<Value> {
    let output = Command::new("node")
        .arg(path("web/run.mjs"))
        .arg(dir.path(page))
        .arg(steps.to_string())
        .env("FORI_WEB_MODULES", modules()?)
        .env("FORI_WEB_WITHOUT", without)
        .output()
        .expect("node starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}")))
}

/// The losses of a page that has nothing to complain of, and its weights.
fn train(dir: &Dir, page: &str, steps: u32) -> Option<(Vec<f64>, Vec<u8>)> {
    let result = open(dir, page, steps, "")?;
    assert_eq!(result["trouble"], "", "what the page says");
    assert_eq!(result["messages"], serde_json::json!([]), "what the console says");
    let losses = result["losses"].as_array().expect("losses").iter().filter_map(Value::as_f64).collect();
    Some((losses, dir.bytes(&format!("{page}.safetensors"))))
}

#[test]
fn chromium_trains_the_curve_of_golden() {
    let dir = Dir::new();
    dir.run("web --out p.html").exits(0);
    let Some((losses, weights)) = train(&dir, "p.html", 200) else { return };
    assert!(losses.len() >= 200, "{} losses of 200 steps", losses.len());
    let want = &golden("trajectory.safetensors")["loss_f64"];
    let count = losses.len().min(want.len());
    assert_close("losses in the browser", &losses[..count], &want[..count], 1e-4, 0.0);
    let weights = SafeTensors::deserialize(&weights).expect("the download is a safetensors file");
    assert_eq!(weights.tensor("layers.1.kernel").expect("a kernel").shape(), [64, 64], "shape of layers.1.kernel");
}

/// The losses of a model in a metrics file of all steps.
fn losses_of(metrics: &str, model: &str) -> Vec<f64> {
    let header: Vec<_> = metrics.lines().next().expect("a header").split(',').collect();
    let column = |name| header.iter().position(|h| *h == name).unwrap_or_else(|| panic!("no column {name}"));
    let (loss, models) = (column("loss"), column("model"));
    let rows = metrics.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    rows.filter(|row| row[models] == model).map(|row| row[loss].parse().expect("a loss")).collect()
}

#[test]
fn the_page_of_a_checkpoint_goes_on_as_a_resumed_run_does() {
    let dir = Dir::new();
    std::fs::copy(path("data/iris.csv"), dir.path("t.csv")).expect("the table is there");
    let task = "--data t.csv --features petal_length,petal_width --target species --loss softmax_cross_entropy";
    let network = "--hidden 8,8 --encoding fourier --fourier-features 5 --dropout 0.1 --layer-norm --seed 3";
    // The state has all there is: moments, sums of gradients in the middle of an update, and lowered learning rates.
    let rules = "--optimizer nadam --accumulate 2 --clip-norm 1 --schedule cosine --decay-steps 40 --validation 0.2";
    let plateau = "--validate-every 5 --reduce-on-plateau 1 --plateau-factor 0.5 --learning-rate 0.03";
    let train_flags = format!("{task} {network} {rules} {plateau} --ensemble 2 --executor cpu -q");
    dir.run(&format!("train {train_flags} --steps 31 --checkpoint c")).exits(0);
    dir.run("export c --model 1 --steps 61 --out p.html")
        .exits(0)
        .says(&["trains model 1 of 2 from step 31 to 61 into p.html"]);
    let plan = plan_in(&dir.read("p.html"));
    assert_eq!(
        (&plan["first"], &plan["steps"], &plan["first_update"]),
        (&31.into(), &61.into(), &15.into()),
        "the run"
    );
    let lowered = plan["rates"][0].as_f64().expect("a rate");
    assert!(lowered < 0.015, "the learning rate {lowered} of the cosine was not lowered on a plateau");
    // A page does not validate: the run that it is compared with does so at its end only.
    dir.run("train --resume c --checkpoint d --steps 61 --validate-every 30 --log-every 1 --metrics m.csv -q").exits(0);
    let want = losses_of(&dir.read("m.csv"), "1");
    assert_eq!(want.len(), 30, "losses of the resumed run");
    let Some((losses, weights)) = train(&dir, "p.html", 61) else { return };
    assert_close("losses of the page", &losses, &want, 1e-4, 1e-5);
    let weights = SafeTensors::deserialize(&weights).expect("the download is a safetensors file");
    assert_eq!(weights.tensor("frequencies").expect("what the weights need").shape(), [2, 5], "shape of frequencies");
    let moved = dir.path("moved.csv");
    std::fs::rename(dir.path("t.csv"), &moved).expect("the table can be moved");
    dir.run("export c --format web --out q.html").exits(1).says(&["--data t.csv: ", "expected a CSV file"]);
    dir.run("export c --data moved.csv --model 1 --steps 61 --out q.html").exits(0);
    assert_eq!(plan_in(&dir.read("q.html")), plan, "the plan with the table elsewhere");
}

#[test]
fn a_checkpoint_becomes_a_page_or_says_why_not() {
    let dir = Dir::new();
    dir.run("train --executor cpu --hidden 3 --steps 5 --checkpoint c -q").exits(0);
    dir.run("export c --out p.html").exits(0).says(&["trains the model from step 5 to 10 into p.html"]);
    assert!(dir.read("p.html").contains("It goes on from step 5 of a checkpoint."), "what the page says of itself");
    let page = dir.run("export c --format web --steps 9").exits(0).stdout.clone();
    assert_eq!(plan_in(&page)["steps"], 9, "the last step of a page on stdout");
    dir.write("t.csv", "a,y\n1,2\n2,3\n3,5\n");
    for (flags, texts) in [
        ("export c --format web --steps 5", ["--steps 5 is where the checkpoint is", "leaves nothing to train"]),
        ("export c --format web --steps 4", ["--steps 4 is behind the checkpoint", "step 5"]),
        ("export c --format web --steps 1000006", ["--steps 1000006 is too many", "at most 1000005"]),
        ("export c --format web --data t.csv", ["--data is not possible", "the linreg task"]),
        ("export c --format web --labels t.csv", ["--labels is not possible", "the linreg task"]),
        ("export c --format web --model 1", ["--model 1 is not possible", "one model, 0"]),
        ("export c --format web --naming flax", ["--naming is for --format safetensors, not web", "leave it out"]),
        ("export c --format onnx --steps 9 --out m.onnx", ["--steps is for --format web, not onnx", "leave it out"]),
        ("export c --format page", ["onnx, safetensors", "web"]),
    ] {
        dir.run(flags).exits(2).says(&texts);
    }
    dir.run("train --executor cpu --data t.csv --target y --hidden 3 --steps 5 --checkpoint d -q").exits(0);
    dir.write("t.csv", "a,y\n1,2\n2,3\n3,6\n");
    let other = ["--data t.csv: not the table of the checkpoint", "its columns, categories or numbers are others"];
    dir.run("export d --format web --out p.html").exits(1).says(&other);
}

#[test]
fn a_browser_without_webgpu_or_an_adapter_says_what_to_do() {
    let dir = Dir::new();
    dir.run("web --out p.html").exits(0);
    for (without, want) in [("webgpu", "This browser has no WebGPU."), ("adapter", "found no graphics adapter for it")]
    {
        let Some(result) = open(&dir, "p.html", 0, without) else { return };
        assert!(result["trouble"].as_str().is_some_and(|text| text.contains(want)), "{without}: {result}");
        let shown = result["shown"].as_str().expect("the text of the page");
        assert!(shown.contains("fori train") && !shown.contains("Start"), "without {without} there is advice: {shown}");
    }
}
