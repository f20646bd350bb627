export { ApiTracing, type TraceApi } from './api-tracing.ts';
export { openTracing } from './open-tracing.ts';
export type { SpanAttributes, SpanStart, TracedSpan, Tracing } from './tracing.ts';
