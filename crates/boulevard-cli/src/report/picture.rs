//! Pictures as inline SVG; colors come from the page's style sheet, so that they follow light and dark.

use std::fmt::Write;

/// Side of the drawing area.
const SIZE: f64 = 300.0;
/// Cells of a decision map along each side.
pub const CELLS: usize = 75;

/// A rectangle of the plane.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

impl Window {
    /// All points with a margin around them.
    pub fn around(points: &[(f64, f64)]) -> Self {
        let span = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
            let margin = if high > low { 0.06 * (high - low) } else { 1.0 };
            if low.is_finite() { (low - margin, high + margin) } else { (0.0, 1.0) }
        };
        Self { x: span(&mut points.iter().map(|p| p.0)), y: span(&mut points.iter().map(|p| p.1)) }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |v: f64, (low, high): (f64, f64)| (v - low) / (high - low) * SIZE;
        (part(x, self.x), SIZE - part(y, self.y))
    }

    /// Centers of the cells of a decision map, row by row from the top.
    pub fn cells(&self) -> Vec<f64> {
        let at = |i: usize, (low, high): (f64, f64)| low + (i as f64 + 0.5) / CELLS as f64 * (high - low);
        (0..CELLS).flat_map(|row| (0..CELLS).flat_map(move |column| [at(column, self.x), at(CELLS - 1 - row, self.y)])).collect()
    }
}

/// A point with its class and whether it is a support vector.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    pub at: (f64, f64),
    pub class: usize,
    pub ringed: bool,
}

fn open(label: &str) -> String {
    format!("<svg viewBox=\"0 0 {SIZE} {SIZE}\" role=\"img\" aria-label=\"{}\">", super::html::escape(label))
}

/// Which class rules where (`codes` of [`Window::cells`]), and the samples on top.
pub fn regions(label: &str, window: Window, codes: &[usize], dots: &[Dot]) -> String {
    let mut svg = open(label);
    let side = SIZE / CELLS as f64;
    svg.push_str("<g shape-rendering=\"crispEdges\">");
    // Runs of equal cells become one rectangle: a map then takes some ten kilobytes instead of five hundred.
    for row in 0..CELLS {
        let mut start = 0;
        for run in codes[row * CELLS..(row + 1) * CELLS].chunk_by(|a, b| a == b) {
            let (x, y, width) = (start as f64 * side, row as f64 * side, run.len() as f64 * side);
            let color = run[0] % 4;
            let _ = write!(svg, "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{side:.0}\" fill=\"var(--r{color})\"/>");
            start += run.len();
        }
    }
    svg.push_str("</g>");
    for dot in dots {
        let ((x, y), color) = (window.place(dot.at), dot.class % 4);
        let ring = if dot.ringed { " stroke=\"var(--ink)\" stroke-width=\"1\"" } else { "" };
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"var(--c{color})\"{ring}/>");
    }
    svg + "</svg>"
}

/// True values against predictions, with the line on which they agree.
pub fn agreement(label: &str, pairs: &[(f64, f64)]) -> String {
    let all: Vec<(f64, f64)> = pairs.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
    let window = Window::around(&all);
    let mut svg = open(label);
    let ((x1, y1), (x2, y2)) = (window.place((window.x.0, window.x.0)), window.place((window.x.1, window.x.1)));
    let _ = write!(svg, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"var(--soft)\" stroke-dasharray=\"5 4\"/>");
    for &pair in pairs {
        let (x, y) = window.place(pair);
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.4\" fill=\"var(--c1)\" fill-opacity=\"0.7\"/>");
    }
    let text = "font-size=\"12\" fill=\"var(--soft)\"";
    let _ = write!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" {text}>true value</text>", SIZE - 6.0, SIZE - 7.0);
    let _ = write!(svg, "<text x=\"8\" y=\"16\" {text}>prediction</text>");
    svg + "</svg>"
}

/// Lines over a common axis, each with its name at its end, and a dashed level.
pub fn lines(label: &str, lines: &[(String, Vec<(f64, f64)>)], level: Option<f64>) -> String {
    let mut all: Vec<(f64, f64)> = lines.iter().flat_map(|(_, points)| points.iter().copied()).collect();
    all.extend(level.map(|level| (0.0, level)));
    all.push((0.0, 0.0));
    let window = Window::around(&all);
    let mut svg = open(label);
    if let Some(level) = level {
        let ((x1, y), (x2, _)) = (window.place((window.x.0, level)), window.place((window.x.1, level)));
        let _ = write!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y:.1}\" x2=\"{x2:.1}\" y2=\"{y:.1}\" stroke=\"var(--soft)\" stroke-dasharray=\"5 4\"/>"
        );
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\" fill=\"var(--soft)\">linear {level:.1}</text>",
            x2 - 4.0,
            y - 4.0
        );
    }
    for (place, (name, points)) in lines.iter().enumerate() {
        let path: Vec<String> = points.iter().map(|&p| window.place(p)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let color = place % 4;
        let _ = write!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c{color})\" stroke-width=\"1.6\"/>", path.join(" "));
        let at = 16.0 + 14.0 * place as f64;
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{at}\" text-anchor=\"end\" font-size=\"12\" fill=\"var(--c{color})\">{}</text>",
            SIZE - 6.0,
            super::html::escape(name)
        );
    }
    svg + "</svg>"
}

/// A line through points, from zero up, with both axes named.
pub fn curve(label: &str, points: &[(f64, f64)], across: &str, up: &str) -> String {
    let mut window = Window::around(points);
    window.y.0 = 0.0;
    let mut svg = open(label);
    let path: Vec<String> = points.iter().map(|&point| window.place(point)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c1)\" stroke-width=\"2\"/>", path.join(" "));
    let text = "font-size=\"12\" fill=\"var(--soft)\"";
    for &point in points {
        let (x, y) = window.place(point);
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"var(--c1)\"/>");
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" {text}>{}</text>", SIZE - 20.0, point.0);
    }
    let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let (_, top) = window.place((window.x.0, highest));
    let _ = write!(svg, "<text x=\"8\" y=\"{:.1}\" {text}>{}</text>", (top + 4.0).max(30.0), super::number::general(highest, 3));
    let across = super::html::escape(across);
    let _ = write!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" {text}>{across}</text>", SIZE - 6.0, SIZE - 5.0);
    let _ = write!(svg, "<text x=\"8\" y=\"16\" {text}>{}</text>", super::html::escape(up));
    svg + "</svg>"
}

/// Horizontal bars with names and values; a second value per bar is drawn as a mark.
pub fn bars(label: &str, items: &[(String, f64, Option<f64>)], show: impl Fn(f64) -> String) -> String {
    const ROW: f64 = 24.0;
    const LEFT: f64 = 120.0;
    const WIDTH: f64 = 520.0;
    let most = items.iter().flat_map(|(_, a, b)| [*a, b.unwrap_or(0.0)]).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - 80.0) / most;
    let height = ROW * items.len() as f64 + 6.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", super::html::escape(label));
    for (i, (name, value, mark)) in items.iter().enumerate() {
        let y = ROW * i as f64 + 4.0;
        let name = super::html::escape(name);
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"13\" text-anchor=\"end\" fill=\"var(--ink)\">{name}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"16\" fill=\"var(--c1)\" rx=\"2\"/>",
            LEFT - 8.0,
            y + 13.0,
            (value * scale).max(0.5)
        );
        if let Some(mark) = mark {
            let x = LEFT + mark * scale;
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"var(--c0)\" stroke-width=\"3\"/>",
                y - 2.0,
                y + 18.0
            );
        }
        let end = LEFT + value.max(mark.unwrap_or(0.0)) * scale + 8.0;
        let _ = write!(svg, "<text x=\"{end:.1}\" y=\"{}\" font-size=\"12\" fill=\"var(--soft)\">{}</text>", y + 13.0, show(*value));
    }
    svg + "</svg>"
}

/// Two pictures of an ensemble per label over its rounds: the errors, and the weight on the heaviest tenth of the rows.
pub fn boosting(model: &boulevard::methods::boosted::BoostedModel) -> (String, String) {
    let heaviest = |weights: &Vec<f64>| {
        let mut sorted = weights.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        sorted[..sorted.len().div_ceil(10)].iter().sum::<f64>()
    };
    let errors: Vec<Vec<f64>> = model.labels.iter().map(|label| label.rounds.iter().map(|round| round.error).collect()).collect();
    let heavy: Vec<Vec<f64>> = model.labels.iter().map(|label| label.weights().iter().map(heaviest).collect()).collect();
    (rounds("error of every round", &errors, 0.5), rounds("weight of the heaviest tenth of the rows", &heavy, 1.0))
}

/// One line per series over 0, 1, 2, ..., values from 0 to `top`.
fn rounds(label: &str, series: &[Vec<f64>], top: f64) -> String {
    let longest = series.iter().map(Vec::len).max().unwrap_or(0).max(2) as f64 - 1.0;
    let window = Window { x: (-0.05 * longest, 1.05 * longest), y: (-0.03 * top, 1.03 * top) };
    let mut svg = open(label);
    for level in [0.0, 0.5 * top, top] {
        let (_, y) = window.place((0.0, level));
        let _ = write!(
            svg,
            "<line x1=\"0\" x2=\"{SIZE}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/>\
             <text x=\"2\" y=\"{:.1}\" font-size=\"10\" fill=\"var(--soft)\">{level}</text>",
            y - 3.0
        );
    }
    for (i, values) in series.iter().enumerate() {
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(x, &y)| {
                let (x, y) = window.place((x as f64, y.min(top)));
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let _ = write!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c{})\" stroke-width=\"2\"/>", points.join(" "), i % 4);
    }
    svg + "</svg>"
}

/// A line through points.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Which of the page's four colors.
    pub color: usize,
    pub dashed: bool,
}

/// A point worth a name.
pub struct Spot {
    pub at: (f64, f64),
    pub name: String,
}

/// Curves with names below, spots with numbers, and vertical lines with names.
pub fn curves(label: &str, all: &[Curve], spots: &[Spot], lines: &[(f64, String)], x_name: &str, y_name: &str) -> String {
    const LINE: f64 = 16.0;
    let escape = super::html::escape;
    let window = Window::around(&all.iter().flat_map(|curve| curve.points.iter().copied()).collect::<Vec<_>>());
    let text = "font-size=\"12\" fill=\"var(--soft)\"";
    let below = 22.0 + LINE * (all.len() + spots.len() + lines.len()) as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {SIZE} {}\" role=\"img\" aria-label=\"{}\">", SIZE + below, escape(label));
    let _ = write!(svg, "<rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"none\" stroke=\"var(--line)\"/>");
    for (x, _) in lines {
        let (x, _) = window.place((*x, window.y.0));
        let _ = write!(svg, "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{SIZE}\" stroke=\"var(--soft)\" stroke-dasharray=\"2 3\"/>");
    }
    for curve in all {
        let path: Vec<String> = curve.points.iter().map(|&at| window.place(at)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if curve.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c{})\" stroke-width=\"1.6\"{dash}/>",
            path.join(" "),
            curve.color % 4
        );
    }
    for (number, spot) in spots.iter().enumerate() {
        let (x, y) = window.place(spot.at);
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"none\" stroke=\"var(--ink)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"var(--ink)\">{}</text>",
            x + 6.0,
            y - 5.0,
            number + 1
        );
    }
    // The range of each axis at its ends; names in the corner.
    let g = |value: f64| super::number::general(value, 3);
    let _ = write!(svg, "<text x=\"4\" y=\"14\" {text}>{} {}</text>", g(window.y.1), escape(y_name));
    let _ = write!(svg, "<text x=\"4\" y=\"{}\" {text}>{}</text>", SIZE - 5.0, g(window.y.0));
    let _ = write!(
        svg,
        "<text x=\"{SIZE}\" y=\"{}\" text-anchor=\"end\" {text}>{} to {}: {}</text>",
        SIZE + 14.0,
        g(window.x.0),
        g(window.x.1),
        escape(x_name)
    );
    let mut y = SIZE + 14.0;
    let mut legend = |mark: String, name: &str| {
        y += LINE;
        format!("{}<text x=\"34\" y=\"{y}\" {text}>{}</text>", mark.replace("{y}", &format!("{}", y - 4.0)), escape(name))
    };
    let mut words = String::new();
    for curve in all {
        let dash = if curve.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let mark =
            format!("<line x1=\"4\" x2=\"28\" y1=\"{{y}}\" y2=\"{{y}}\" stroke=\"var(--c{})\" stroke-width=\"2\"{dash}/>", curve.color % 4);
        words.push_str(&legend(mark, &curve.name));
    }
    for (number, spot) in spots.iter().enumerate() {
        words.push_str(&legend(String::new(), &format!("{}: {}", number + 1, spot.name)));
    }
    for (_, name) in lines {
        let mark = "<line x1=\"4\" x2=\"28\" y1=\"{y}\" y2=\"{y}\" stroke=\"var(--soft)\" stroke-dasharray=\"2 3\"/>".to_owned();
        words.push_str(&legend(mark, name));
    }
    svg + &words + "</svg>"
}
