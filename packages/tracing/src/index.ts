export { ApiTracing, type TraceApi } from './api-tracing.ts';
export {
  beginProcess,
  beginReceive,
  beginSend,
  type ReceivedMessage,
  type TracedMessage,
} from './message-spans.ts';
export { openTracing } from './open-tracing.ts';
export { beginToolCall, type TracedToolCall, toolError } from './tool-spans.ts';
export { validTraceparent } from './trace-parent.ts';
export type { SpanAttributes, SpanStart, TracedSpan, Tracing } from './tracing.ts';
