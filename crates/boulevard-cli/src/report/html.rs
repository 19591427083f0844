//! Self-contained HTML pages: words and tables stand in the file, pictures are described in it and drawn by the bundled front end.

use boulevard::picture::Picture;

use super::table::Table;

/// The front end, built by `scripts/web`.
const STYLE: &str = include_str!("../../web/dist/style.css");
const SCRIPT: &str = include_str!("../../web/dist/report.js");

/// Text that stands for itself inside HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A sentence as HTML: names in backquotes stand out, and a percent sign stays on the line of its number.
pub fn sentence(text: &str) -> String {
    let mut parts: Vec<String> = text.split('`').map(escape).collect();
    // An odd quote at the end is one that somebody's name has.
    let left = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    let mut html = String::new();
    for (place, part) in parts.iter().enumerate() {
        html.push_str(&if place % 2 == 1 { format!("<code>{part}</code>") } else { part.clone() });
    }
    html.extend(left.map(|left| format!("`{left}")));
    html.replace(" %", "\u{a0}%")
}

/// A page that grows from top to bottom.
pub struct Page {
    title: String,
    body: String,
    pictures: Vec<Picture>,
}

impl Page {
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: String::new(), pictures: Vec::new() }
    }

    /// A heading that opens a section.
    pub fn section(&mut self, heading: &str) -> &mut Self {
        self.body.push_str(&format!("<h2>{}</h2>\n", escape(heading)));
        self
    }

    /// A paragraph; one without words is left out.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.classed("", text)
    }

    /// A paragraph of a class: `soft`, `lead`.
    pub fn classed(&mut self, class: &str, text: &str) -> &mut Self {
        if !text.is_empty() {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            self.body.push_str(&format!("<p{class}>{}</p>\n", sentence(text)));
        }
        self
    }

    pub fn table(&mut self, table: &Table) -> &mut Self {
        self.body.push_str(&table.html());
        self
    }

    /// Names with what is to be said about them.
    pub fn facts<N: AsRef<str>>(&mut self, facts: &[(N, String)]) -> &mut Self {
        let fact = |(name, value): &(N, String)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name.as_ref()), sentence(value.trim()));
        self.body.push_str(&format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>()));
        self
    }

    /// Lines to type.
    pub fn lines(&mut self, lines: &str) -> &mut Self {
        // Words stay whole, so that no line ends within a `--`.
        let word = |word: &str| format!("<span>{}</span>", escape(word));
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        self.body.push_str(&format!("<pre>{}</pre>\n", lines.lines().map(line).collect::<Vec<_>>().join("\n")));
        self
    }

    /// A list of sentences.
    pub fn list(&mut self, sentences: &[String]) -> &mut Self {
        if !sentences.is_empty() {
            let items: String = sentences.iter().map(|text| format!("<li>{}</li>\n", sentence(text))).collect();
            self.body.push_str(&format!("<ul>\n{items}</ul>\n"));
        }
        self
    }

    /// Something to be unfolded.
    pub fn folded(&mut self, summary: &str, open: bool, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let open = if open { " open" } else { "" };
        self.body.push_str(&format!("<details class=\"fold\"{open}><summary>{}</summary>\n", escape(summary)));
        fill(self);
        self.body.push_str("</details>\n");
        self
    }

    /// Pictures side by side where there is room, each with its sentence.
    pub fn pictures(&mut self, pictures: impl IntoIterator<Item = Picture>) -> &mut Self {
        let mut cards = String::new();
        for picture in pictures {
            cards.push_str(&format!(
                "<figure class=\"picture\" data-picture=\"{}\"><h3>{}</h3><p class=\"sentence\">{}</p></figure>\n",
                self.pictures.len(),
                escape(&picture.title),
                sentence(&picture.sentence)
            ));
            self.pictures.push(picture);
        }
        if !cards.is_empty() {
            self.body.push_str(&format!("<div class=\"cards\">{cards}</div>\n"));
        }
        self
    }

    /// The file.
    pub fn finish(&self) -> String {
        // A script element ends at its closing tag, wherever that stands.
        let data = serde_json::to_string(&self.pictures).expect("pictures are plain data").replace('<', "\\u003c");
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{0}</title>\n<style>{STYLE}</style></head>\n<body><main>\n<h1>{0}</h1>\n{1}\
             <noscript><p>The pictures need JavaScript; everything else can be read without.</p></noscript>\n\
             <p class=\"soft\">Written by boulevard {2}.</p>\n</main>\n\
             <script type=\"application/json\" id=\"pictures\">{data}</script>\n<script>{3}</script>\n</body></html>\n",
            escape(&self.title),
            self.body,
            env!("CARGO_PKG_VERSION"),
            SCRIPT.replace("</script", "<\\/script")
        )
    }
}

#[cfg(test)]
mod tests {
    use boulevard::picture::{Axis, Layer, Mark, Picture, Role};

    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let evil = "</script><script>alert(1)</script>";
        let layer = Layer::new(Mark::Bars, evil, Role::Neutral).numbers("x", vec![1.0]).texts("y", vec![evil.to_owned()]);
        let picture = Picture::new("p", evil, Axis::linear(evil), Axis::names("y", vec![evil.to_owned()])).with(layer).saying(evil);
        let mut page = Page::new(evil);
        page.section(evil).text(evil).facts(&[(evil, evil.to_owned())]).lines(evil).list(&[evil.to_owned()]).pictures([picture]);
        let text = page.finish();
        assert!(!text.contains("<script>alert"), "escaped everywhere");
        assert_eq!(text.matches("<script").count() - SCRIPT.matches("<script").count(), 2);
        assert!(text.len() < 1_500_000);
    }

    #[test]
    fn names_stand_out_and_signs_stay_with_their_numbers() {
        assert_eq!(sentence("12 % of `a<b` and `c`"), "12\u{a0}% of <code>a&lt;b</code> and <code>c</code>");
        assert_eq!(sentence("an odd ` quote"), "an odd ` quote");
    }
}
