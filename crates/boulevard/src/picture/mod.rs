//! One description of a picture: its data, axes, marks, and the sentence that says what to see.
//!
//! The library describes, surfaces draw: reports, the local page and notebooks all read the same value, which is plain JSON. Columns with
//! these names place a mark: `x`, `y`, `x1`, `x2`, `y1`, `y2` (areas, and whiskers of bars), `value` (shade of a cell), `class`, `ring` (a support
//! vector), `wrong`, `key` (what choosing it means). Every other column is told on hovering and in the table.

mod shape;

pub use shape::{Axis, Column, Layer, Mark, Role, Scale};

use serde::Serialize;

/// A picture as it is described; see the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// A word that names it, unique within one model.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What to see in it, computed from the numbers.
    pub sentence: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the lowest first.
    pub layers: Vec<Layer>,
    /// The flag of the command line that a chosen `key` stands for, where something can be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// Whether both axes are to have the same length.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub square: bool,
}

impl Picture {
    /// A picture without layers.
    pub fn new(id: &str, title: &str, x: Axis, y: Axis) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), sentence: String::new(), x, y, layers: Vec::new(), select: None, square: false }
    }

    /// The same with a sentence.
    pub fn saying(self, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), ..self }
    }

    /// The same with one more layer on top; a layer without any row is left out.
    pub fn with(mut self, layer: Layer) -> Self {
        if layer.rows() > 0 {
            self.layers.push(layer);
        }
        self
    }

    /// The same, with `key`s that stand for values of a flag.
    pub fn choosing(self, flag: &str) -> Self {
        Self { select: Some(flag.to_owned()), ..self }
    }

    /// The same with axes of the same length.
    pub fn squared(self) -> Self {
        Self { square: true, ..self }
    }
}

/// Rows to draw of `rows`: all, or `most` of them spread evenly.
pub fn thinned(rows: usize, most: usize) -> Vec<usize> {
    if rows <= most { (0..rows).collect() } else { (0..most).map(|place| place * rows / most).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_plain_json() {
        let layer = Layer::new(Mark::Line, "training", Role::Training).numbers("x", vec![1.0, 2.0]).numbers("y", vec![0.1 + 0.2, f64::NAN]);
        let picture = Picture::new("p", "P", Axis::log("C"), Axis::percent("error")).saying("Look.").with(layer).choosing("pick");
        let text = serde_json::to_string(&picture).unwrap();
        assert_eq!(
            text,
            "{\"id\":\"p\",\"title\":\"P\",\"sentence\":\"Look.\",\"x\":{\"label\":\"C\",\"scale\":\"log\"},\
             \"y\":{\"label\":\"error\",\"unit\":\"%\",\"scale\":\"linear\"},\
             \"layers\":[{\"mark\":\"line\",\"name\":\"training\",\"role\":\"training\",\"columns\":{\"x\":[1,2],\"y\":[0.3,null]}}],\
             \"select\":\"pick\"}"
        );
    }

    #[test]
    fn empty_layers_are_left_out_and_rows_are_thinned() {
        let axis = || Axis::linear("a");
        assert!(Picture::new("p", "P", axis(), axis()).with(Layer::new(Mark::Line, "", Role::Neutral)).layers.is_empty());
        assert_eq!(thinned(3, 5), [0, 1, 2]);
        assert_eq!(thinned(10, 5), [0, 2, 4, 6, 8]);
    }
}
