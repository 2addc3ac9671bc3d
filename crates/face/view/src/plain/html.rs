use std::fmt::Write as _;

/// Style sheet: light and dark, and black on white on paper. No meaning is in the colour alone.
const STYLE: &str = "\
:root{color-scheme:light dark;--text:#1b1b1b;--soft:#595959;--line:#c8c8c8;--back:#fff;--head:#f2f2f2}\
@media(prefers-color-scheme:dark){:root{--text:#ececec;--soft:#b0b0b0;--line:#4a4a4a;--back:#161616;\
--head:#242424}}\
body{margin:0 auto;max-width:75rem;padding:1.5rem;font:16px/1.5 system-ui,sans-serif;\
color:var(--text);background:var(--back)}\
h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.15rem;margin-top:2rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\
caption{text-align:left;color:var(--soft);padding-bottom:.3rem}\
th,td{border:1px solid var(--line);padding:.2rem .5rem;text-align:left;vertical-align:top}\
th{background:var(--head)}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
pre{overflow-x:auto;border:1px solid var(--line);padding:.6rem;font-size:.8rem}\
.soft{color:var(--soft)}\
@media print{:root{--text:#000;--soft:#333;--line:#999;--back:#fff;--head:#eee}\
body{max-width:none;padding:0;font-size:10pt}pre{white-space:pre-wrap;word-break:break-all}\
.scroll{overflow:visible}tr{break-inside:avoid}h2{break-after:avoid}thead{display:table-header-group}}";

/// An HTML file under construction.
pub struct Page {
    text: String,
}

/// A cell of a table.
pub enum Cell {
    /// Text of a cell.
    Text(String),
    /// A number with its unit.
    Number(String),
}

impl Page {
    /// Begins a page with this title.
    pub fn new(title: &str) -> Self {
        let title = escape(title);
        let text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        );
        Self { text }
    }

    /// Adds the heading of the page.
    pub fn title(&mut self, text: &str) {
        self.line(format_args!("<h1>{}</h1>", escape(text)));
    }

    /// Adds the heading of a section.
    pub fn heading(&mut self, text: &str) {
        self.line(format_args!("<h2>{}</h2>", escape(text)));
    }

    /// Adds a paragraph of HTML.
    pub fn paragraph(&mut self, html: &str) {
        self.line(format_args!("<p>{html}</p>"));
    }

    /// Adds preformatted text.
    pub fn block(&mut self, text: &str) {
        // HTML drops a line feed right after the tag.
        self.line(format_args!("<pre>{}</pre>", escape(text.trim_end())));
    }

    /// Adds a table with a caption; if there are no rows, the caption says so.
    pub fn table(&mut self, caption: &str, head: &[&str], rows: Vec<Vec<Cell>>) {
        self.line(format_args!("<div class=\"scroll\"><table>"));
        self.line(format_args!("<caption>{}</caption>", escape(caption)));
        let head: String =
            head.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
        self.line(format_args!("<thead><tr>{head}</tr></thead>\n<tbody>"));
        for row in rows {
            let cells: String = row.iter().map(Cell::html).collect();
            self.line(format_args!("<tr>{cells}</tr>"));
        }
        self.line(format_args!("</tbody></table></div>"));
    }

    /// Ends the page and returns the file.
    pub fn finish(mut self) -> String {
        self.text += "</main>\n</body>\n</html>\n";
        self.text
    }

    fn line(&mut self, content: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{content}").expect("writing to a string cannot fail");
    }
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn number(text: impl Into<String>) -> Self {
        Self::Number(text.into())
    }

    fn html(&self) -> String {
        match self {
            Self::Text(text) => format!("<td>{}</td>", escape(text)),
            Self::Number(text) => format!("<td class=\"n\">{}</td>", escape(text)),
        }
    }
}

/// Escapes text for HTML elements and quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // HTML does not allow other control characters.
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => {
                escaped.push('\u{fffd}')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}
