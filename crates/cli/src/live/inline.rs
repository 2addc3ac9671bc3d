use std::collections::VecDeque;
use std::io::{Stderr, stderr};

use bench::progress::{Observer, Progress, Tick};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Gauge, Paragraph, Sparkline, Widget};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::FinalWarnings;
use super::line::{begin_line, judged, limit_line, overview_lines, prefill_line, share, tick_line};

/// Lines of the part that changes in place.
const HEIGHT: u16 = 9;
/// Limits that fit below the rate.
const LIMITS: usize = 5;
/// Slices of IOPS kept for the sparkline.
const HISTORY: usize = 120;

/// A few lines below the prompt that change in place; what is finished scrolls up.
pub struct Inline {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    color: bool,
    title: String,
    state: String,
    progress: f64,
    rates: VecDeque<u64>,
    limits: Vec<(String, f64)>,
    warnings: FinalWarnings,
}

impl Inline {
    /// Takes the lines below the cursor; fails where the terminal does not answer.
    pub fn new(color: bool, warnings: FinalWarnings) -> std::io::Result<Self> {
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let terminal = Terminal::with_options(CrosstermBackend::new(stderr()), options)?;
        Ok(Self {
            terminal,
            color,
            title: String::new(),
            state: String::new(),
            progress: 0.0,
            rates: VecDeque::new(),
            limits: Vec::new(),
            warnings,
        })
    }

    /// Writes lines above the changing part, where they stay.
    fn keep(&mut self, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        // A terminal that went away must not end the run: the result is on disk.
        let _ = self.terminal.insert_before(height, |buffer| {
            let lines: Vec<Line<'_>> = lines.into_iter().map(Line::from).collect();
            Paragraph::new(lines).render(buffer.area, buffer);
        });
    }

    fn tick(&mut self, tick: &Tick) {
        self.state = tick_line(tick);
        let total = tick.elapsed.as_secs_f64() + tick.left.as_secs_f64();
        self.progress = if total > 0.0 { tick.elapsed.as_secs_f64() / total } else { 0.0 };
        if self.rates.len() == HISTORY {
            self.rates.pop_front();
        }
        self.rates.push_back(whole(tick.operations_per_s));
        let mut limits: Vec<(String, f64)> =
            tick.limits.iter().map(|limit| (limit_line(limit), share(limit))).collect();
        limits.sort_by(|a, b| b.1.total_cmp(&a.1));
        limits.truncate(LIMITS);
        self.limits = limits;
    }

    fn draw(&mut self) {
        let view = View {
            color: self.color,
            title: &self.title,
            state: &self.state,
            progress: self.progress.clamp(0.0, 1.0),
            rates: self.rates.make_contiguous(),
            limits: &self.limits,
        };
        let _ = self.terminal.draw(|frame| view.draw(frame));
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn whole(value: f64) -> u64 {
    value as u64
}

struct View<'a> {
    color: bool,
    title: &'a str,
    state: &'a str,
    progress: f64,
    rates: &'a [u64],
    limits: &'a [(String, f64)],
}

impl View<'_> {
    fn paint(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
        ])
        .split(frame.area());
        frame.render_widget(Line::from(self.title).bold(), rows[0]);
        let gauge = Gauge::default().ratio(self.progress).gauge_style(self.paint(Color::Blue));
        frame.render_widget(gauge, rows[1]);
        frame.render_widget(Line::from(self.state), rows[2]);
        let sparkline = Sparkline::default().data(self.rates).style(self.paint(Color::Cyan));
        frame.render_widget(sparkline, rows[3]);
        let limits: Vec<Line<'_>> = self.limits.iter().map(|limit| self.limit(limit)).collect();
        frame.render_widget(Paragraph::new(limits), rows[4]);
    }

    /// The word "over" says it; colour only repeats it.
    fn limit(&self, (text, share): &(String, f64)) -> Line<'_> {
        if *share > 1.0 {
            Line::styled(format!("over   {text}"), self.paint(Color::Red))
        } else {
            Line::from(format!("within {text}"))
        }
    }
}

impl Observer for Inline {
    fn event(&mut self, event: &Progress<'_>) {
        match event {
            Progress::Planned(overview) => self.keep(overview_lines(overview)),
            Progress::Prefill { done, total, bytes_per_s } => {
                self.title = "prefill".to_owned();
                self.state = prefill_line(*done, *total, *bytes_per_s);
                self.progress = done.as_f64() / total.as_f64().max(1.0);
                self.limits.clear();
            }
            Progress::StepBegins { .. } => {
                self.title = begin_line(event);
                self.rates.clear();
            }
            Progress::Tick(tick) => self.tick(tick),
            Progress::StepEnds(step) => {
                let mut lines = self.warnings.of_step();
                lines.push(judged(step));
                self.keep(lines);
            }
            Progress::Warning(warning) => self.warnings.add(warning),
            Progress::Finished { .. } => {
                let lines = self.warnings.of_run();
                self.keep(lines);
            }
        }
        self.draw();
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        let _ = self.terminal.clear();
        let _ = self.terminal.show_cursor();
    }
}
