use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::progress::{Control, Observer, Progress, Request, Tick};
use ratatui::backend::Backend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Gauge, Paragraph, Sparkline, Widget};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::FinalWarnings;
use super::line::{
    Pace, begin_line, in_the_way, judged, larger_line, of_all, overview_lines, phase_line,
    prefill_line, rate_line,
};
use super::terminal::StderrTerminal;
use crate::text::{latency, number};
use crate::time_left::TimeLeft;
use units::fit::{filled, hanging_of};

/// Returns the height of the changing part in lines. On a terminal with few columns, sentences take
/// several lines.
const fn height(columns: u16) -> u16 {
    if columns < 100 { 15 } else { 10 }
}

/// Maximum number of limits shown below the rates.
const LIMITS: usize = 4;
/// Time between two drawings of a simulation, which produces hundreds of slices a second.
const SIMULATED_EVERY: Duration = Duration::from_millis(100);
/// Maximum number of IOPS values in the sparkline: the width of a wide terminal.
const HISTORY: usize = 400;

/// View of a few lines below the prompt that change in place; finished lines scroll up.
pub struct Inline {
    terminal: Terminal<StderrTerminal>,
    control: Arc<Control>,
    request: Request,
    warnings: FinalWarnings,
    /// First part of the page's address, if there is a page.
    address: Option<String>,
    view: View,
    pace: Pace,
    left: TimeLeft,
    /// Current step, as a line.
    step: String,
    /// Time of the last drawing.
    drawn: Option<Instant>,
}

impl Inline {
    /// Reserves the lines below the cursor; fails if the terminal does not answer.
    pub fn new(
        color: bool,
        warnings: FinalWarnings,
        address: Option<String>,
        control: &Arc<Control>,
    ) -> std::io::Result<Self> {
        let terminal = StderrTerminal::new();
        let columns = terminal.size().map_or(80, |size| size.width);
        let options = TerminalOptions { viewport: Viewport::Inline(height(columns)) };
        let terminal = Terminal::with_options(terminal, options)?;
        let view = View { color, ..View::default() };
        let (request, pace) = (Request::GoOn, Pace::default());
        let control = Arc::clone(control);
        let left = TimeLeft::default();
        Ok(Self {
            terminal,
            control,
            request,
            warnings,
            address,
            view,
            pace,
            left,
            step: String::new(),
            drawn: None,
        })
    }

    /// Writes lines above the changing part, where they stay.
    fn keep(&mut self, lines: Vec<String>) {
        let width = usize::from(self.terminal.size().map_or(80, |size| size.width).max(1));
        let rows = |line: &String| filled(line, width, hanging_of(line).max(2));
        let lines: Vec<String> = lines.iter().flat_map(rows).collect();
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

    fn draw(&mut self) {
        let request = self.control.request();
        if request != self.request {
            // The terminal has written ^C into the changing lines.
            let _ = self.terminal.clear();
            self.request = request;
            self.view.notice = match request {
                Request::GoOn => String::new(),
                Request::Stop => {
                    "stopping, keeping the result so far; press again to abort".to_owned()
                }
                Request::Abort => "aborting".to_owned(),
            };
        }
        let view = &self.view;
        let _ = self.terminal.draw(|frame| view.draw(frame));
    }
}

/// Contents of the changing lines.
#[derive(Default)]
struct View {
    color: bool,
    title: String,
    notice: String,
    phase: String,
    rates: String,
    /// Other work that disturbs the step; empty if nothing disturbs it.
    beside: String,
    progress: f64,
    history: VecDeque<u64>,
    limits: Vec<LimitRow>,
}

struct LimitRow {
    name: String,
    measured: String,
    share: f64,
}

impl View {
    fn tick(&mut self, tick: &Tick, pace: &Pace) {
        (self.phase, self.rates) = (phase_line(tick), rate_line(tick, pace));
        self.beside = in_the_way(tick).unwrap_or_default();
        let total = tick.elapsed.as_secs_f64() + tick.left.as_secs_f64();
        self.progress = if total > 0.0 { tick.elapsed.as_secs_f64() / total } else { 0.0 };
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(whole(tick.operations_per_s + tick.calls_per_s.unwrap_or(0.0)));
        self.limits = tick
            .limits
            .iter()
            .map(|limit| LimitRow {
                name: limit.name.clone(),
                measured: format!(
                    "{:>8} of {}",
                    latency(limit.measured.map(|time| time.0)),
                    limit.limit
                ),
                share: limit.share(),
            })
            .collect();
        self.limits.sort_by(|a, b| b.share.total_cmp(&a.share));
        self.limits.truncate(LIMITS);
    }

    fn paint(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let columns = usize::from(frame.area().width);
        let rows = |text: &str| match text.is_empty() {
            true => Vec::new(),
            false => filled(text, columns, 2),
        };
        let heading = if self.notice.is_empty() { &self.title } else { &self.notice };
        let (heading, rates, beside) = (rows(heading), rows(&self.rates), rows(&self.beside));
        // The phase stands beside the bar if it fits, otherwise below.
        let is_beside = columns * 3 / 5 >= self.phase.chars().count() + 2;
        let phase = if is_beside { Vec::new() } else { rows(&self.phase) };
        let length = |rows: &[String]| Constraint::Length(u16::try_from(rows.len()).unwrap_or(1));
        let [title, gauge, below, rate, others, history, limits] = Layout::vertical([
            length(&heading),
            Constraint::Length(1),
            length(&phase),
            length(&rates),
            length(&beside),
            Constraint::Length(2),
            Constraint::Min(0),
        ])
        .areas(frame.area());
        let shown = |rows: Vec<String>| {
            Paragraph::new(rows.into_iter().map(Line::from).collect::<Vec<Line<'_>>>())
        };
        frame.render_widget(shown(heading).bold(), title);
        self.draw_gauge(frame, gauge, is_beside);
        frame.render_widget(shown(phase), below);
        frame.render_widget(shown(rates), rate);
        frame.render_widget(shown(beside), others);
        self.draw_history(frame, history);
        let lines: Vec<Line<'_>> =
            self.limits.iter().flat_map(|row| self.limit(row, columns)).collect();
        frame.render_widget(Paragraph::new(lines), limits);
    }

    fn draw_gauge(&self, frame: &mut Frame<'_>, area: Rect, has_phase: bool) {
        let [bar, phase] =
            Layout::horizontal([Constraint::Percentage(40), Constraint::Min(0)]).areas(area);
        let gauge = Gauge::default()
            .ratio(self.progress.clamp(0.0, 1.0))
            .gauge_style(self.paint(Color::Blue))
            .use_unicode(true);
        frame.render_widget(gauge, bar);
        if has_phase {
            frame.render_widget(Line::from(format!("  {}", self.phase)), phase);
        }
    }

    /// Draws the sparkline, the newest slice at the right end, with a label for the highest value.
    fn draw_history(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(highest) = self.history.iter().max() else { return };
        #[expect(clippy::cast_precision_loss, reason = "printed with three digits")]
        let label = format!("{} IOPS ", number(*highest as f64));
        let width = u16::try_from(label.len()).unwrap_or(0).max(12);
        let [scale, chart] =
            Layout::horizontal([Constraint::Length(width), Constraint::Min(0)]).areas(area);
        let newest = self.history.len().saturating_sub(usize::from(chart.width));
        let shown: Vec<u64> = self.history.iter().skip(newest).copied().collect();
        frame.render_widget(Line::from(label), scale);
        let sparkline =
            Sparkline::default().data(shown).max(*highest).style(self.paint(Color::Cyan));
        frame.render_widget(sparkline, chart);
    }

    /// Formats the row of a limit. The word "over" carries the meaning, and colour repeats it.
    /// Numbers come first, because a long name continues in the next row.
    fn limit(&self, row: &LimitRow, columns: usize) -> Vec<Line<'static>> {
        let LimitRow { name, measured, share } = row;
        let percent = share * 100.0;
        let word = if *share > 1.0 { "over  " } else { "within" };
        let text = format!("{word}  {percent:>4.0} %  {measured:<20}  {name}");
        let style = if *share > 1.0 { self.paint(Color::Red) } else { Style::new() };
        filled(&text, columns, 8).into_iter().map(|row| Line::styled(row, style)).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn whole(value: f64) -> u64 {
    value as u64
}

impl Observer for Inline {
    fn event(&mut self, event: &Progress<'_>) {
        self.pace.hear(event);
        self.left.hear(event, Instant::now());
        match event {
            Progress::Planned(overview) => {
                self.keep(overview_lines(overview, self.address.as_deref()));
            }
            Progress::Prefill { done, total, bytes_per_s } => {
                let view = &mut self.view;
                view.title = format!("filling the virtual disks{}", of_all(&self.left));
                view.phase = prefill_line(*done, *total, *bytes_per_s);
                view.progress = done.as_f64() / total.as_f64().max(1.0);
                view.rates.clear();
                view.beside.clear();
                view.history.clear();
                view.limits.clear();
            }
            Progress::LargerDisks { .. } => self.keep(vec![larger_line(event)]),
            Progress::StepBegins { .. } => {
                self.step = begin_line(event);
                self.view.title = format!("{}{}", self.step, of_all(&self.left));
                self.view.history.clear();
                self.view.limits.clear();
            }
            Progress::Slice { .. } => {}
            Progress::Tick(tick) => {
                self.view.title = format!("{}{}", self.step, of_all(&self.left));
                self.view.tick(tick, &self.pace);
                let is_fresh = |drawn: Instant| drawn.elapsed() < SIMULATED_EVERY;
                if self.pace.is_simulated() && self.drawn.is_some_and(is_fresh) {
                    return;
                }
                self.drawn = Some(Instant::now());
            }
            Progress::StepEnds(step) => {
                let mut lines = self.warnings.of_step();
                lines.extend(judged(step));
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
        // Later output begins at the first of the changing lines.
        let begin = self.terminal.get_frame().area().as_position();
        let _ = self.terminal.set_cursor_position(begin);
        let _ = self.terminal.show_cursor();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines that a terminal with so many columns shows of a view.
    fn drawn(view: &View, width: u16) -> Vec<String> {
        let backend = ratatui::backend::TestBackend::new(width, height(width));
        let mut terminal = Terminal::new(backend).expect("a terminal");
        terminal.draw(|frame| view.draw(frame)).expect("draws");
        let buffer = terminal.backend().buffer();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height(width)).map(row).collect()
    }

    #[test]
    fn sixty_columns_show_every_number() {
        let limit = |name: &str, share| LimitRow {
            name: name.to_owned(),
            measured: " 2.87 s of 500 ms".to_owned(),
            share,
        };
        let view = View {
            title: "step: 12 tiles, 96 VMs, repeat 1 of 3, at most 2 min; about 14 min left of \
                    the run"
                .to_owned(),
            phase: "measuring for longer, because the result was undecided, 12 s left".to_owned(),
            rates: "123,456 IOPS (70 % reads), 1.2 GB/s (1.1 GiB/s), p99 12.3 ms, busiest worker \
                    12 % CPU"
                .to_owned(),
            beside: "disturbed by: other processes used 38 % of the processors (limit 10 %), most \
                     of it cc1plus"
                .to_owned(),
            history: [1, 2, 123_456].into(),
            limits: vec![limit("database order-of-new-customer p95", 5.74)],
            ..View::default()
        };
        for width in [60, 100] {
            let text = drawn(&view, width).join("\n");
            let words: Vec<&str> = text.split_whitespace().collect();
            let all = [&view.title, &view.phase, &view.rates, &view.beside, &view.limits[0].name];
            for word in all.into_iter().flat_map(|part| part.split(' ')) {
                assert!(words.contains(&word), "{word} is not shown at {width}:\n{text}");
            }
            assert!(text.contains("2.87 s of 500 ms"), "{text}");
        }
    }
}
