/** The attributes of a span. They never hold bodies, arguments or secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The role of a span in its trace, as OpenTelemetry names it. */
export type SpanKindName = 'client' | 'server' | 'producer' | 'consumer';

/** A span before it begins. */
export interface SpanStart {
  name: string;
  kind: SpanKindName;
  /** The `traceparent` of the span that caused this one; without it, or with an invalid one, a trace begins here. */
  parent: string | undefined;
  /** The `traceparent`s of related spans. Those that are missing or invalid are left out. */
  links?: readonly (string | undefined)[];
  attributes: SpanAttributes;
}

/** A span that has begun. */
export interface TracedSpan {
  /** Names the span to others, as W3C Trace Context writes it. */
  readonly traceparent: string;
  /** Runs `work` with this span as the active one: spans that other libraries begin are its children. */
  run<T>(work: () => T): T;
  /** Adds attributes. */
  set(attributes: SpanAttributes): void;
  /** Ends the span, once. `errorType` marks its operation as failed: a short code, never a text with data in it. */
  end(errorType?: string): void;
}

/** Makes the spans of this process. A part without it makes no spans, and only checks that it is absent. */
export interface Tracing {
  /** Begins a span, which its caller ends. */
  begin(start: SpanStart): TracedSpan;
  /** Returns the `traceparent` of the span in which the caller runs, if it runs in one. */
  active(): string | undefined;
}
