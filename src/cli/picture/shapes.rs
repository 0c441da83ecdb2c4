//! What a picture is made of. Coordinates are pixels from the upper left corner.

/// A color and how much of what is below it covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) struct Ink {
    /// Red, green, blue.
    pub(in crate::cli) color: [u8; 3],
    /// From 0, invisible, to 1.
    pub(in crate::cli) alpha: f32,
}

impl Ink {
    /// A color that covers.
    pub(in crate::cli) const fn of(color: [u8; 3]) -> Self {
        Self { color, alpha: 1.0 }
    }

    /// The color, less of it.
    pub(in crate::cli) const fn faint(self, alpha: f32) -> Self {
        Self { alpha, ..self }
    }
}

/// Where a text is from its point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) enum Align {
    Right,
    Center,
    Left,
}

/// A part of a picture.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) enum Shape {
    /// A line through points; `dash` has the lengths of its strokes and gaps, and nothing where it has no gaps.
    Line { points: Vec<[f32; 2]>, ink: Ink, width: f32, dash: &'static [f32] },
    /// The inside of a polygon.
    Area { points: Vec<[f32; 2]>, ink: Ink },
    /// A line of text by the end of its baseline that `align` says; turned, it reads upward.
    Text { text: String, at: [f32; 2], size: f32, align: Align, turned: bool, ink: Ink },
}

/// A picture, its shapes from the lowest to the uppermost, on white.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Drawing {
    pub(in crate::cli) width: f32,
    pub(in crate::cli) height: f32,
    pub(in crate::cli) shapes: Vec<Shape>,
}

impl Drawing {
    /// Adds a line of text.
    pub(in crate::cli) fn text(&mut self, text: impl Into<String>, at: [f32; 2], size: f32, align: Align, ink: Ink) {
        self.shapes.push(Shape::Text { text: text.into(), at, size, align, turned: false, ink });
    }

    /// Adds a line.
    pub(in crate::cli) fn line(&mut self, points: Vec<[f32; 2]>, ink: Ink, width: f32) {
        self.shapes.push(Shape::Line { points, ink, width, dash: &[] });
    }
}

/// A filled circle.
pub(in crate::cli) fn dot([x, y]: [f32; 2], radius: f32, ink: Ink) -> Shape {
    let corner = |i: u8| {
        let angle = f32::from(i) * std::f32::consts::TAU / 16.0;
        [x + radius * angle.cos(), y + radius * angle.sin()]
    };
    Shape::Area { points: (0..16).map(corner).collect(), ink }
}
