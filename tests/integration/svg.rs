//! Pictures as SVG, also for the unit tests of charts.

use std::path::Path;
use std::sync::Arc;

use resvg::usvg::{Options, Tree, fontdb};

/// Fails where a part of a picture is outside of it.
pub(crate) fn check_inside(svg: &str, what: &str) {
    let mut fonts = fontdb::Database::new();
    let font = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/Roboto-Regular.subset.ttf");
    fonts.load_font_data(std::fs::read(font).expect("the font is in the repository"));
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).unwrap_or_else(|e| panic!("{what}: {e}: {svg}"));
    let (size, all) = (tree.size(), tree.root().abs_stroke_bounding_box());
    let within = all.left() >= -1.0 && all.top() >= -1.0;
    let within = within && all.right() <= size.width() + 1.0 && all.bottom() <= size.height() + 1.0;
    assert!(within, "{all:?} is outside of {size:?}: {what}");
}
