export { type Answer, json, plainText, refusal } from './http/answer.ts';
export type { HealthCheck, Readiness } from './http/readiness.ts';
export { openStatusListener, type StatusListener } from './http/status-listener.ts';
export {
  type AccessRefusal,
  bearerOf,
  beginAnswer,
  refusedAccess,
  StatusRequests,
  type StatusSources,
  send,
} from './http/status-requests.ts';
export { Counter } from './metrics/counter.ts';
export { Histogram, LabelledHistogram } from './metrics/histogram.ts';
export { LabelValues } from './metrics/label-values.ts';
export { LoopDelay } from './metrics/loop-delay.ts';
export { gauge, type MetricFamily, type MetricInfo, type Sample } from './metrics/metric-family.ts';
export { reportedFamilies } from './metrics/reported-families.ts';
export { SampleKeeper } from './samples/sample-keeper.ts';
