// Options of uPlot for our lines: marks of steps, hatches, labels at the ends of lines.

import uPlot from 'uplot';
import type { StepSpan } from '../api/types';
import { axisLabel, ended, fontOf, leftOf, logTicks, rightOf, timeTicks, TOP, valueTicks } from './axis';
import type { Colours } from '../palette';
import { FEW, LEADER, spread, type Line } from './lines';

export interface Look {
  width: number;
  height: number;
  unit: string;
  isLog: boolean;
  lines: readonly Line[];
  colours: Colours;
  font: string;
  /** Values of few I/Os are not drawn at all: many lines are. */
  isCrowded: boolean;
}

/** What is drawn around the lines; read at each drawing. */
export interface Marks {
  window: readonly [number, number];
  steps: readonly StepSpan[];
  limit: { value: number; label: string } | null;
  /** Times of few I/Os, nanoseconds. */
  few: readonly (readonly [number, number])[];
  /** The axis reaches at least this far. */
  reach: number | null;
  brushFrom: number | null;
  at: number | null;
}

const dpr = (): number => devicePixelRatio || 1;

/** Spans in which all lines together stand for few I/Os. */
export function fewSpans(
  at: ArrayLike<number>,
  widths: ArrayLike<number>,
  lines: readonly Line[],
): [number, number][] {
  const spans: [number, number][] = [];
  for (let position = 0; position < at.length; position += 1) {
    const total = lines.reduce((sum, line) => sum + (line.counts?.[position] ?? FEW), 0);
    if (total >= FEW || total === 0) continue;
    const from = at[position] ?? 0;
    const to = from + (widths[position] ?? 0);
    const last = spans.at(-1);
    if (last && last[1] >= from) last[1] = to;
    else spans.push([from, to]);
  }
  return spans;
}

function hatch(context: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, colour: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = dpr();
  context.globalAlpha = 0.45;
  context.beginPath();
  const gap = 7 * dpr();
  for (let at = x - h; at < x + w; at += gap) {
    context.moveTo(at, y + h);
    context.lineTo(at + h, y);
  }
  context.stroke();
  context.restore();
}

/** Shades what was not measured and marks where steps begin. */
function drawUnder(u: uPlot, marks: Marks, colours: Colours): void {
  const { ctx, bbox } = u;
  const x = (ns: number): number => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(ns, 'x', true)));
  for (const span of marks.steps) {
    if (span.phase === 'measured' || span.to_ns < marks.window[0] || span.from_ns > marks.window[1]) continue;
    ctx.fillStyle = colours.panel;
    ctx.fillRect(x(span.from_ns), bbox.top, x(span.to_ns) - x(span.from_ns), bbox.height);
  }
  for (const [from, to] of marks.few) hatch(ctx, x(from), bbox.top, x(to) - x(from), bbox.height, colours.border);
}

/** Step beginnings in the window, each step once. */
export function beginnings(steps: readonly StepSpan[]): StepSpan[] {
  return steps.filter((span, position) => {
    const before = steps[position - 1];
    return !before || before.step !== span.step || before.repeat !== span.repeat;
  });
}

function drawSteps(u: uPlot, marks: Marks, look: Look): void {
  const { ctx, bbox } = u;
  const first = beginnings(marks.steps);
  if (first.length < 2) return;
  ctx.save();
  ctx.font = `${(fontOf(look.width) - 1) * dpr()}px ${look.font}`;
  ctx.textBaseline = 'bottom';
  ctx.textAlign = 'left';
  let free = -Infinity;
  for (const span of first) {
    const at = u.valToPos(span.from_ns, 'x', true);
    if (at < bbox.left - 1 || at > bbox.left + bbox.width) continue;
    ctx.strokeStyle = look.colours.border;
    ctx.globalAlpha = 0.7;
    ctx.lineWidth = dpr();
    ctx.beginPath();
    ctx.moveTo(at, bbox.top - 3 * dpr());
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    const text = span.tiles === 1 ? '1 tile' : `${span.tiles} tiles`;
    const short = at >= free ? text : '';
    if (!short) continue;
    ctx.fillStyle = look.colours.soft;
    ctx.fillText(short, at + 2 * dpr(), bbox.top - 2 * dpr());
    free = at + ctx.measureText(text).width + 8 * dpr();
  }
  ctx.restore();
}

function drawLimit(u: uPlot, marks: Marks, look: Look): void {
  if (!marks.limit) return;
  const { ctx, bbox } = u;
  const y = u.valToPos(marks.limit.value, 'y', true);
  if (!(y >= bbox.top && y <= bbox.top + bbox.height)) return;
  ctx.save();
  ctx.strokeStyle = look.colours.kinds.warning;
  ctx.fillStyle = look.colours.ink;
  ctx.lineWidth = 1.5 * dpr();
  ctx.setLineDash([2 * dpr(), 3 * dpr()]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${(fontOf(look.width) - 1) * dpr()}px ${look.font}`;
  ctx.textBaseline = 'bottom';
  ctx.textAlign = 'left';
  // Lines may cross the name.
  ctx.setLineDash([]);
  ctx.strokeStyle = look.colours.ground;
  ctx.lineWidth = 3 * dpr();
  ctx.lineJoin = 'round';
  ctx.strokeText(marks.limit.label, bbox.left + 4 * dpr(), y - 2 * dpr());
  ctx.fillText(marks.limit.label, bbox.left + 4 * dpr(), y - 2 * dpr());
  ctx.restore();
}

/** Names of lines at their ends, with a piece of the line, so that no legend is needed. */
function drawLabels(u: uPlot, look: Look): void {
  const { ctx, bbox } = u;
  const ends = look.lines.flatMap((line, position) => {
    const values = u.data[1 + position * 2] ?? [];
    const faint = u.data[2 + position * 2] ?? [];
    const end = u.scales['x']?.max ?? Infinity;
    /** The last value at or before a time. */
    const last = (to: number): { x: number; value: number } | null => {
      for (let i = (u.data[0]?.length ?? 0) - 1; i >= 0; i -= 1) {
        const value = values[i] ?? faint[i];
        const x = u.data[0][i] ?? 0;
        if (value !== null && value !== undefined && x <= to) return { x, value };
      }
      return null;
    };
    const final = last(end);
    // A run that was cut short falls to nothing in its last moment; its lines are named before.
    const before = last(end - (end - (u.scales['x']?.min ?? 0)) * 0.03);
    const named = final && before && final.value < before.value / 5 ? before : final;
    const y = named ? u.valToPos(named.value, 'y', true) : NaN;
    if (named && Number.isFinite(y)) return [{ line, y, x: u.valToPos(named.x, 'x', true) }];
    return [];
  });
  const size = fontOf(look.width);
  const ys = spread(ends.map(({ y }) => y), (size + 2) * dpr(), bbox.top + 4 * dpr(), bbox.top + bbox.height - 4 * dpr());
  ctx.save();
  ctx.font = `${size * dpr()}px ${look.font}`;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  const right = bbox.left + bbox.width;
  const labels = look.lines.map((line) => line.label);
  ends.forEach(({ line, y, x }, position) => {
    const at = ys[position] ?? y;
    ctx.strokeStyle = look.colours.border;
    ctx.lineWidth = LEADER.width * dpr();
    ctx.setLineDash(LEADER.dash.map((part) => part * dpr()));
    ctx.beginPath();
    ctx.moveTo(Math.min(x, right) + 2 * dpr(), y);
    ctx.lineTo(right + 5 * dpr(), at);
    ctx.stroke();
    ctx.strokeStyle = line.colour;
    ctx.lineWidth = 2 * dpr();
    ctx.setLineDash(line.dash.map((part) => part * dpr() * 0.6));
    ctx.beginPath();
    ctx.moveTo(right + 6 * dpr(), at);
    ctx.lineTo(right + 16 * dpr(), at);
    ctx.stroke();
    ctx.fillStyle = look.colours.ink;
    ctx.fillText(ended(line.label, look.width, labels), right + 19 * dpr(), at);
  });
  ctx.restore();
}

function drawCursor(u: uPlot, marks: Marks, look: Look): void {
  const { ctx, bbox } = u;
  const from = marks.brushFrom;
  if (from === null || marks.at === null) return;
  const [a, b] = [from, marks.at].map((ns) => u.valToPos(ns, 'x', true)) as [number, number];
  ctx.save();
  ctx.globalAlpha = 0.18;
  ctx.fillStyle = look.colours.focus;
  ctx.fillRect(Math.min(a, b), bbox.top, Math.abs(b - a), bbox.height);
  ctx.restore();
}

function valueRange(isLog: boolean, reach: () => number) {
  return (_u: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax => {
    if (low === null || high === null) return isLog ? [1e5, 1e8] : [0, 1];
    const most = Math.max(high, reach());
    if (!isLog) return [0, most > 0 ? most * 1.06 : 1];
    const least = Math.max(low, 1);
    return [least / 1.4, Math.max(most, least * 4) * 1.4];
  };
}

/** Positions of values without a neighbour: no line leads to them. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const list: number[] = [];
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) list.push(i);
  }
  return list;
}

/** Options for the lines of a look. */
export function options(look: Look, marks: () => Marks, hooks: uPlot.Hooks.Arrays): uPlot.Options {
  const { colours } = look;
  const font = `${fontOf(look.width)}px ${look.font}`;
  const axis = { stroke: colours.soft, font, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  const series: uPlot.Series[] = [{}];
  const thick = look.width > 2600 ? 1.5 : 1;
  for (const line of look.lines) {
    const shared = { dash: line.dash, spanGaps: false, points: { show: false } };
    const points = look.isCrowded
      ? { show: true, size: 3 + line.width, fill: line.colour, filter: (u: uPlot, at: number) => alone(u.data[at] ?? []) }
      : shared.points;
    series.push({ ...shared, points, label: line.label, stroke: line.colour, width: line.width * thick });
    series.push({ ...shared, label: `${line.label}, few I/Os`, stroke: line.colour, width: 1, alpha: 0.4 });
  }
  const bands: uPlot.Band[] = [];
  look.lines.forEach((line) => {
    if (!line.low || !line.high) return;
    const first = series.length;
    const edge = { stroke: 'transparent', width: 0, points: { show: false } };
    series.push({ ...edge, label: `${line.label}, most` }, { ...edge, label: `${line.label}, least` });
    bands.push({ series: [first, first + 1], fill: `color-mix(in srgb, ${line.colour} 22%, transparent)` });
  });
  return {
    width: look.width,
    height: look.height,
    padding: [TOP, rightOf(look.width, look.lines.map((line) => line.label)), 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: () => [...marks().window] as [number, number] },
      y: { distr: look.isLog ? 3 : 1, range: valueRange(look.isLog, () => Math.max(marks().limit?.value ?? 0, marks().reach ?? 0)) },
    },
    axes: [
      {
        ...axis,
        size: 28,
        splits: (u) => timeTicks(...marks().window, u.width / 110).map((tick) => tick.value),
        values: () => timeTicks(...marks().window, look.width / 110).map((tick) => tick.label),
      },
      {
        ...axis,
        size: leftOf(look.width),
        splits: (_u, _axis, low, high) =>
          look.isLog ? logTicks(low, high, look.height / 40) : valueTicks(high, look.unit, look.height / 45),
        values: (_u, splits) => splits.map((value) => axisLabel(value, look.unit)),
        filter: (_u, splits) => splits,
      },
    ],
    series,
    bands,
    hooks: {
      ...hooks,
      drawClear: [(u) => drawUnder(u, marks(), colours), ...(hooks.drawClear ?? [])],
      draw: [
        (u) => {
          drawSteps(u, marks(), look);
          drawLimit(u, marks(), look);
          drawLabels(u, look);
          drawCursor(u, marks(), look);
        },
      ],
    },
  };
}
