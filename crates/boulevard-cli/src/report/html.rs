//! Self-contained HTML pages: one style sheet, no scripts, readable on a phone and in the dark.

/// Text that stands for itself inside HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fbfaf7;--ink:#1d2126;--soft:#5c6670;--line:#d9d6cd;--card:#fff;--good:#1a7f4b;--bad:#b3381f;\
--c0:#c8553d;--c1:#2f6f9f;--c2:#6a8f3c;--c3:#8a5fa8;--r0:#f0d2ca;--r1:#cddfec;--r2:#dbe6ca;--r3:#e2d6ec}\
@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e7e4dc;--soft:#9aa3ad;--line:#343a41;--card:#1d2126;--good:#5fc48f;\
--bad:#ee8a72;--c0:#f08a70;--c1:#7db8e4;--c2:#a9cc78;--c3:#c3a0dd;--r0:#4a2b25;--r1:#213a4c;--r2:#323f22;--r3:#3b2c48}}\
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}\
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}\
h2{font-size:1.2rem;margin:2.2rem 0 .4rem}p{margin:.4rem 0;max-width:44rem}.soft{color:var(--soft)}.good{color:var(--good)}\
.bad{color:var(--bad)}.scroll{overflow-x:auto;margin:.8rem 0}table{border-collapse:collapse;font-size:.92rem;\
font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.32rem .7rem;border-bottom:1px solid var(--line);white-space:nowrap}\
th{color:var(--soft);font-weight:600}.n{text-align:right}.cards{display:grid;gap:1rem;margin:1rem 0;\
grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr))}figure{margin:0;background:var(--card);\
border:1px solid var(--line);border-radius:.5rem;padding:.7rem}figure svg{width:100%;height:auto;display:block}\
figcaption{font-size:.88rem;margin-top:.45rem;color:var(--soft)}figcaption b{color:var(--ink)}\
pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.7rem;font-size:.86rem}";

/// A page from a title and its body.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{0}</title><style>{STYLE}</style></head>\n<body><main>\n<h1>{0}</h1>\n{body}\
         <p class=\"soft\">Written by boulevard {1}.</p>\n</main></body></html>\n",
        escape(title),
        env!("CARGO_PKG_VERSION")
    )
}

/// A heading and paragraphs.
pub fn section(heading: &str, text: &str) -> String {
    format!("<h2>{}</h2>\n<p>{}</p>\n", escape(heading), escape(text))
}

/// A picture with a caption: a bold title and a sentence.
pub fn figure(svg: &str, title: &str, caption: &str) -> String {
    format!("<figure>{svg}<figcaption><b>{}</b> {}</figcaption></figure>\n", escape(title), escape(caption))
}

/// Figures side by side where there is room.
pub fn cards(figures: &str) -> String {
    format!("<div class=\"cards\">{figures}</div>\n")
}
