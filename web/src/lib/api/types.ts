// The documents of the interface, as the server's OpenAPI describes them. Times on the run's axis
// are nanoseconds of time under load.

import type { components } from './schema';

type Schemas = components['schemas'];

export type RunKind = Schemas['RunKind'];
export type RunState = Schemas['RunState'];
export type RunList = Schemas['RunList'];
export type RunRow = Schemas['RunRow'];
export type RunPage = Schemas['RunPage'];
export type Dimensions = Schemas['Dimensions'];
export type StepSpan = Schemas['StepSpan'];
export type LiveState = Schemas['LiveState'];
export type Overview = Schemas['Overview'];
export type Hero = Schemas['Hero'];
export type Finding = Schemas['Finding'];
export type SizeRow = Schemas['SizeRow'];
export type Series = Schemas['Series'];
export type Group = Schemas['Group'];
export type HeatMap = Schemas['HeatMap'];
export type Percentiles = Schemas['Percentiles'];
export type PercentileCurve = Schemas['PercentileCurve'];
export type PercentilePoint = Schemas['PercentilePoint'];
export type LatencyMatrix = Schemas['LatencyMatrix'];
export type MatrixPanel = Schemas['MatrixPanel'];
export type LoadMatrix = Schemas['LoadMatrix'];
export type LoadCell = Schemas['LoadCell'];
export type MapPage = Schemas['MapPage'];
export type MapItem = Schemas['MapItem'];
export type LimitHeld = Schemas['LimitHeld'];
export type TrailPoint = Schemas['TrailPoint'];
export type Moment = Schemas['Moment'];
export type MomentEvent = Schemas['MomentEvent'];
export type TileCurve = Schemas['TileCurve'];
export type AccessPage = Schemas['AccessPage'];
export type MachinePage = Schemas['MachinePage'];
export type MachineGauge = Schemas['MachineGauge'];
export type FoldedWarning = Schemas['FoldedWarning'];
export type Headline = Schemas['Headline'];
export type CurvePoint = Schemas['CurvePoint'];
export type CurveLimit = Schemas['CurveLimit'];
export type TierPage = Schemas['TierPage'];
export type TierHero = Schemas['TierHero'];
export type TierSeries = Schemas['TierSeries'];
export type TierSteps = Schemas['TierSteps'];
export type TierFacts = Schemas['TierFacts'];
export type ComparePage = Schemas['ComparePage'];
export type RunsTrend = Schemas['RunsTrend'];
export type TrendRow = Schemas['TrendRow'];
export type TrendFigure = Schemas['TrendFigure'];
export type CompareSide = Schemas['CompareSide'];
export type DifferenceRow = Schemas['DifferenceRow'];
export type CompareMetric = Schemas['CompareMetric'];
export type CompareReason = Schemas['CompareReason'];
export type CurveOfSide = Schemas['CurveOfSide'];
export type StudyList = Schemas['StudyList'];
export type StudyRow = Schemas['StudyRow'];
export type StudyPage = Schemas['StudyPage'];
export type StudyClaim = Schemas['StudyClaim'];
export type StudySection = Schemas['StudySection'];
export type WatchPage = Schemas['WatchPage'];
export type WatchedLoad = Schemas['WatchedLoad'];
export type WatchedSets = Schemas['WatchedSets'];
export type Run = Schemas['Run'];
export type Step = Schemas['Step'];
export type LimitResult = Schemas['LimitResult'];
export type Problem = Schemas['Problem'];

/** Each view and its document. */
export interface Documents {
  overview: Overview;
  series: Series;
  actions: Series;
  calls: Series;
  heatmap: HeatMap;
  percentiles: Percentiles;
  matrix: LatencyMatrix;
  breaks: LoadMatrix;
  map: MapPage;
  moment: Moment;
  curve: TileCurve;
  machine: MachinePage;
  access: AccessPage;
  watch: WatchPage;
  tier: TierPage;
}

export type ViewName = keyof Documents;
