//! Drawings as SVG 1.1. Reference: W3C (2011), "Scalable Vector Graphics (SVG) 1.1".

use super::shapes::{Align, Drawing, Ink, Shape};

/// The text of the file.
pub(super) fn write(drawing: &Drawing) -> String {
    let (width, height) = (drawing.width, drawing.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Roboto, Helvetica, Arial, sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"#ffffff\"/>\n"
    );
    for shape in &drawing.shapes {
        text += &element(shape);
        text.push('\n');
    }
    text += "</svg>\n";
    text
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Line { points, ink, width, dash } => {
            let lengths: Vec<_> = dash.iter().map(ToString::to_string).collect();
            let dash =
                if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", lengths.join(" ")) };
            format!(
                "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>",
                list(points),
                paint("stroke", *ink)
            )
        }
        Shape::Area { points, ink } => format!("<polygon points=\"{}\"{}/>", list(points), paint("fill", *ink)),
        Shape::Text { text, at: [x, y], size, align, turned, ink } => {
            let anchor = match align {
                Align::Left => "start",
                Align::Center => "middle",
                Align::Right => "end",
            };
            let turn = if *turned { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
            format!(
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{turn}{}>{}</text>",
                paint("fill", *ink),
                escaped(text)
            )
        }
    }
}

fn list(points: &[[f32; 2]]) -> String {
    points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect::<Vec<_>>().join(" ")
}

fn paint(what: &str, ink: Ink) -> String {
    let [r, g, b] = ink.color;
    let opacity = if ink.alpha < 1.0 { format!(" {what}-opacity=\"{}\"", ink.alpha) } else { String::new() };
    format!(" {what}=\"#{r:02x}{g:02x}{b:02x}\"{opacity}")
}

/// Text for XML, which knows no control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_leave_the_file_well_formed() {
        assert_eq!(escaped("a<b>&\u{1}\n\"ü\""), "a&lt;b&gt;&amp;  \"ü\"", "escaped text");
    }
}
