import type * as Api from '@opentelemetry/api';
import { formatTraceparent, parseTraceparent } from './trace-parent.ts';
import type { SpanAttributes, SpanKindName, SpanStart, TracedSpan, Tracing } from './tracing.ts';

/** The functions of OpenTelemetry's API that tracing uses. */
export type TraceApi = Pick<typeof Api, 'context' | 'trace' | 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode'>;

/** Makes spans with a tracer. */
export class ApiTracing implements Tracing {
  readonly #api: TraceApi;
  readonly #tracer: Api.Tracer;
  readonly #kinds: Readonly<Record<SpanKindName, Api.SpanKind>>;

  constructor(api: TraceApi, tracer: Api.Tracer) {
    const { CLIENT, SERVER, PRODUCER, CONSUMER } = api.SpanKind;
    this.#api = api;
    this.#tracer = tracer;
    this.#kinds = { client: CLIENT, server: SERVER, producer: PRODUCER, consumer: CONSUMER };
  }

  begin({ name, kind, parent, links = [], attributes }: SpanStart): TracedSpan {
    const { trace, ROOT_CONTEXT } = this.#api;
    const cause = remoteContext(parent);
    const options = {
      kind: this.#kinds[kind],
      attributes: attributes as Api.Attributes,
      links: links.flatMap((link) => {
        const context = remoteContext(link);
        return context ? [{ context }] : [];
      }),
    };
    const within = cause ? trace.setSpanContext(ROOT_CONTEXT, cause) : ROOT_CONTEXT;
    return new ApiSpan(this.#api, this.#tracer.startSpan(name, options, within));
  }

  active(): string | undefined {
    const { trace, context } = this.#api;
    const active = trace.getSpanContext(context.active());
    return active && trace.isSpanContextValid(active) ? traceparentOf(active) : undefined;
  }
}

class ApiSpan implements TracedSpan {
  readonly traceparent: string;
  readonly #api: TraceApi;
  readonly #span: Api.Span;
  #isOver = false;

  constructor(api: TraceApi, span: Api.Span) {
    this.#api = api;
    this.#span = span;
    this.traceparent = traceparentOf(span.spanContext());
  }

  run<T>(work: () => T): T {
    const { trace, context, ROOT_CONTEXT } = this.#api;
    return context.with(trace.setSpan(ROOT_CONTEXT, this.#span), work);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes as Api.Attributes);
  }

  end(errorType?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (errorType !== undefined) {
      this.#span.setAttribute('error.type', errorType);
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function remoteContext(traceparent: string | undefined): Api.SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  return (
    parsed && { traceId: parsed.traceId, spanId: parsed.spanId, traceFlags: parsed.flags, isRemote: true }
  );
}

function traceparentOf({ traceId, spanId, traceFlags }: Api.SpanContext): string {
  return formatTraceparent({ traceId, spanId, flags: traceFlags });
}
