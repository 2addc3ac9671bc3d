// The documents of the interface, one to one as `crates/view/src/document` writes them.
// Times on the run's axis are nanoseconds of time under load.

export type RunKind = 'measured' | 'simulated' | 'replayed' | 'recorded' | 'sample';
export type RunState = 'complete' | 'running' | 'abandoned';

export interface RunList {
  base: string;
  runs: RunRow[];
}

export interface RunRow {
  id: string;
  kind: RunKind;
  state: RunState;
  status: string | null;
  started: string;
  duration_ns: number;
  tile: string;
  target: string;
  sentence: string;
  tiles_held: number | null;
  score: number | null;
  size_bytes: number;
  spark: number[];
  error: string | null;
}

export interface RunPage {
  row: RunRow;
  run: Run | null;
  environment: unknown;
  preflight: unknown;
  plan: string | null;
  checksums: string | null;
  dimensions: Dimensions;
  steps: StepSpan[];
  end_ns: number;
  slice_ns: number;
  live: LiveState | null;
}

export interface Dimensions {
  workloads: string[];
  tiles: number;
  classes: string[];
  has_tier: boolean;
  has_ladder: boolean;
}

export interface StepSpan {
  step: number;
  repeat: number;
  tiles: number;
  phase: string;
  from_ns: number;
  to_ns: number;
  verdict: string | null;
}

export interface LiveState {
  version: number;
  phase: string;
  sentence: string;
  tiles: number;
  elapsed_ns: number;
  left_ns: number | null;
  prepared: number | null;
  operations_per_s: number;
  bytes_per_s: number;
  p99_ns: number | null;
  lost_slices: number;
}

export interface Overview {
  sentence: string;
  cause: string;
  verdict: string;
  heroes: Hero[];
  findings: Finding[];
  sizes: SizeRow[];
  flushes?: SizeRow | null;
  sizes_sentence: string;
}

export interface Hero {
  label: string;
  text: string;
  value: number | null;
  unit: string;
  note: string;
  samples: number | null;
  spark: (number | null)[];
  link: string;
}

export interface Finding {
  id: string;
  text: string;
  effect: number;
  samples: number;
  link: string;
}

export interface SizeRow {
  direction: string;
  class: number;
  count: number;
  bytes: number;
  share_of_count: number;
  share_of_bytes: number;
  wait_ns: number;
  share_of_wait: number;
  p50_ns: number | null;
  p95_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

export interface Series {
  sentence: string;
  measure: string;
  unit: string;
  at_ns: number[];
  width_ns: number[];
  groups: Group[];
  limit_ns: number | null;
  left_out: number;
}

export interface Group {
  key: string;
  label: string;
  count: number[];
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  p50: (number | null)[];
  p95: (number | null)[];
  p99: (number | null)[];
  wait_share: (number | null)[];
}

export interface HeatMap {
  sentence: string;
  at_ns: number[];
  width_ns: number[];
  edges_ns: number[];
  columns: number[][];
  max_ns: (number | null)[];
  p99_ns: (number | null)[];
  most: number;
}

export interface Percentiles {
  sentence: string;
  clock: string;
  curves: PercentileCurve[];
}

export interface PercentileCurve {
  key: string;
  label: string;
  count: number;
  points: PercentilePoint[];
}

export interface PercentilePoint {
  share: number;
  value_ns: number;
}

export interface LatencyMatrix {
  sentence: string;
  edges_ns: number[];
  limit_ns: number;
  limit_source: string;
  panels: MatrixPanel[];
}

export interface MatrixPanel {
  direction: string;
  cells: number[][];
  p99_ns: (number | null)[];
  count: number[];
  first_break: number | null;
}

export interface LoadMatrix {
  sentence: string;
  load: string;
  columns: string[];
  limit_ns: number;
  limit_source: string;
  cells: LoadCell[];
}

export interface LoadCell {
  direction: string;
  class: number;
  column: number;
  count: number;
  p99_ns: number;
  is_enough: boolean;
}

export interface MapPage {
  sentence: string;
  items: MapItem[];
}

export interface MapItem {
  name: string;
  tile: number;
  workload: string;
  host: string | null;
  count: number;
  operations_per_s: number;
  bytes_per_s: number;
  bytes: number;
  read_share: number | null;
  p50_ns: number | null;
  p99_ns: number | null;
  limit: LimitHeld | null;
  trail: TrailPoint[];
}

export interface LimitHeld {
  name: string;
  measured_ns: number | null;
  limit_ns: number;
  ratio: number | null;
  samples: number;
  verdict: string;
}

export interface TrailPoint {
  at_ns: number;
  operations_per_s: number;
  bytes_per_s: number;
  p50_ns: number | null;
  p99_ns: number | null;
}

export interface Moment {
  sentence: string;
  at_ns: number;
  width_ns: number;
  sizes: SizeRow[];
  top: MapItem[];
  edges_ns: number[];
  counts: number[];
  counts_of_all: number[];
  events: MomentEvent[];
  previous_spike_ns: number | null;
  next_spike_ns: number | null;
}

export interface MomentEvent {
  at_ns: number;
  kind: string;
  text: string;
}

export interface TileCurve {
  sentence: string;
  tiles_held: number | null;
  tiles_failed: number | null;
  broken: string | null;
  limits: string[];
  points: CurvePoint[];
}

export interface CurvePoint {
  step: number;
  repeat: number;
  tiles: number;
  vms: number;
  verdict: string;
  reason: string;
  operations_per_s: number;
  bytes_per_s: number;
  actions_per_s: number;
  score: number | null;
  ideal_score: number;
  limits: (CurveLimit | null)[];
}

export interface CurveLimit {
  limit_ns: number;
  measured_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  samples: number;
  verdict: string;
  worst_tile: number | null;
}

export interface TierPage {
  sentence: string;
  is_present: boolean;
  is_modelled: boolean;
  heroes: TierHero[];
  tiers: TierSeries[];
  steps: TierSteps[];
}

export interface TierHero {
  label: string;
  text: string;
  value: number | null;
  unit: string;
  samples: number | null;
  note: string;
  spark: (number | null)[];
}

export interface TierSeries {
  name: string;
  capacity_bytes: number;
  policy: string | null;
  at_ns: number[];
  width_ns: number[];
  reads: number[];
  read_hits: number[];
  remote_hits: number[];
  writes: number[];
  writes_absorbed: number[];
  filled_bytes: number[];
  placed_bytes: number[];
  evicted_bytes: number[];
  destaged_bytes: number[];
  resident_bytes: number[];
  dirty_bytes: number[];
  observed_read_p99_ns: (number | null)[];
  observed_write_p99_ns: (number | null)[];
  backing_read_p99_ns: (number | null)[];
  backing_write_p99_ns: (number | null)[];
}

export interface TierSteps {
  step: number;
  repeat: number;
  tiles: number;
  tiers: TierFacts[];
}

export interface TierFacts {
  name: string;
  capacity_bytes: number;
  resident_bytes: number;
  dirty_bytes: number;
  dirty_bytes_max: number;
  reads: number;
  read_hits: number;
  read_bytes: number;
  read_hit_bytes: number;
  writes: number;
  write_hits: number;
  write_bytes: number;
  write_hit_bytes: number;
  writes_absorbed: number;
  remote_hits: number;
  filled_bytes: number;
  placed_bytes: number;
  evicted_bytes: number;
  destaged_bytes: number;
  tier_written_bytes: number;
  acceleration_rate: number | null;
}

export interface ComparePage {
  sentence: string;
  verdict: string;
  a: CompareSide;
  b: CompareSide;
  environment: DifferenceRow[];
  plan: DifferenceRow[];
  seeds: string;
  notes: string[];
  metrics: CompareMetric[];
  curves: CurveOfSide[];
  edges_ns: number[];
  difference: number[][];
}

export interface CompareSide {
  id: string;
  sentence: string;
  tiles: number;
}

export interface DifferenceRow {
  key: string;
  a: string;
  b: string;
}

export interface CompareMetric {
  name: string;
  unit: string;
  better: string;
  a: number | null;
  b: number | null;
  change: number | null;
  low: number | null;
  high: number | null;
  samples: number[];
  verdict: string;
  reason: string | null;
}

export interface CurveOfSide {
  side: string;
  direction: string;
  count: number;
  points: PercentilePoint[];
}

export interface StudyList {
  studies: StudyRow[];
}

export interface StudyRow {
  name: string;
  title: string;
  sentence: string;
  claims: number;
}

export interface StudyPage {
  row: StudyRow;
  made_by: string;
  notes: string[];
  claims_note: string;
  claims: StudyClaim[];
  sections: StudySection[];
}

export interface StudyClaim {
  id: string;
  kind: string;
  published: string;
  ours: string;
  tolerance: string;
  outcome: string;
  outcome_text: string;
  text: string;
}

export interface StudySection {
  title: string;
  paragraphs: string[];
  columns: string[];
  rows: string[][];
}

/** `run.json`; only what the page reads of it. */
export interface Run {
  schema: string;
  id: string;
  started: string;
  ended: string | null;
  tool: { version: string; commit: string | null };
  /** A string where it is longer than a number can hold exactly. */
  seed: number | string;
  random_generator: string;
  profile: string;
  target: { datastore: string; kind: string; summary: string; capacity_bytes: number | null };
  tile: { name: string; sha256: string; vms: number; workloads: number; disk_bytes: number };
  engine: { backend: string; workers: number; depth: number; buffered: boolean; slice_ns: number };
  plan_sha256: string;
  plan: { key: string; value: unknown; origin: string }[];
  steps: Step[];
  answer: {
    status: string;
    tiles_held: number | null;
    edge: string;
    sentence: string;
    score: { value: number | null; reason?: string };
  };
  warnings: Warning[];
}

/** A step of `run.json`; only what the page reads of it. */
export interface Step {
  step: number;
  repeat: number;
  tiles: number;
  verdict: string;
  reason: string;
  limits?: { workload: string; worst_tile: number | null; result: LimitResult }[];
}

export interface LimitResult {
  name: string;
  statistic: string;
  limit_ns: number;
  measured_ns: number | null;
  interval_low_ns: number | null;
  interval_high_ns: number | null;
  confidence: number | null;
  samples: number;
  verdict: string;
}

export interface Warning {
  id: string;
  text: string;
  value: string | null;
  limit: string | null;
  hint: string | null;
}

/** Each view and its document. */
export interface Documents {
  overview: Overview;
  series: Series;
  heatmap: HeatMap;
  percentiles: Percentiles;
  matrix: LatencyMatrix;
  breaks: LoadMatrix;
  map: MapPage;
  moment: Moment;
  curve: TileCurve;
  tier: TierPage;
}

export type ViewName = keyof Documents;

/** An answer that is none, as RFC 9457 describes it. */
export interface Problem {
  type: string;
  title: string;
  detail: string;
  status: number;
}
