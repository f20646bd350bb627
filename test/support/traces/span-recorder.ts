import { AsyncLocalStorage } from 'node:async_hooks';
import * as api from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ApiTracing, type Tracing } from '@signalbox/serving/tracing';

/** A span that has ended, with the names of related spans in place of their ids. */
export interface RecordedSpan {
  name: string;
  kind: string;
  traceparent: string;
  traceId: string;
  /** The name of its parent; `remote` for one that was not recorded here. */
  parent: string | undefined;
  parentId: string | undefined;
  links: string[];
  errorType: unknown;
  attributes: Record<string, unknown>;
}

/** Tracing with the real SDK that registers nothing for the whole process, and the spans that it has made. */
export interface SpanRecorder {
  tracing: Tracing;
  tracer: api.Tracer;
  /** Runs `work` within a span of the test. Returns its `traceparent` and what `work` returned. */
  within<T>(name: string, work: () => Promise<T>): Promise<{ traceparent: string; value: T }>;
  spans(): RecordedSpan[];
  /** The only span with this name. */
  span(name: string): RecordedSpan;
}

export function recordSpans(): SpanRecorder {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const storage = new AsyncLocalStorage<api.Context>();
  const active = () => storage.getStore() ?? api.ROOT_CONTEXT;
  const context = {
    active,
    with: (within: api.Context, work: () => unknown) => storage.run(within, work),
  } as api.ContextAPI;
  const tracer = provider.getTracer('test');
  const tracing = new ApiTracing({ ...api, context }, tracer);
  const spans = () => recorded(exporter.getFinishedSpans());
  return {
    tracing,
    tracer,
    async within(name, work) {
      const span = tracer.startSpan(name);
      const value = await storage.run(api.trace.setSpan(api.ROOT_CONTEXT, span), work);
      span.end();
      return { traceparent: traceparentOf(span.spanContext()), value };
    },
    spans,
    span(name) {
      const found = spans().filter((span) => span.name === name);
      if (found.length !== 1) throw new Error(`${found.length} spans are named '${name}'`);
      return found[0]!;
    },
  };
}

function recorded(ended: readonly ReadableSpan[]): RecordedSpan[] {
  const names = new Map(ended.map((span) => [span.spanContext().spanId, span.name]));
  const nameOf = (spanId: string) => names.get(spanId) ?? 'remote';
  return ended.map((span) => ({
    name: span.name,
    kind: api.SpanKind[span.kind]!.toLowerCase(),
    traceparent: traceparentOf(span.spanContext()),
    traceId: span.spanContext().traceId,
    parent: span.parentSpanContext && nameOf(span.parentSpanContext.spanId),
    parentId: span.parentSpanContext?.spanId,
    links: span.links.map((link) => nameOf(link.context.spanId)),
    errorType: span.attributes['error.type'],
    attributes: span.attributes,
  }));
}

function traceparentOf({ traceId, spanId, traceFlags }: api.SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}
