/** The identity of a span, as W3C Trace Context passes it to the next process. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** The trace flags; bit 0 says that the span is recorded. */
  readonly flags: number;
}

const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The only flag of a later version whose meaning is known. */
const sampledFlag = 0x01;

/** Reads a W3C `traceparent`, also one of a later version. Returns `undefined` for anything else. */
export function parseTraceparent(value: unknown): TraceParent | undefined {
  if (typeof value !== 'string') return undefined;
  const [, version, traceId, spanId, flags, more] = form.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00')
    return more === undefined ? { traceId, spanId, flags: parseInt(flags, 16) } : undefined;
  return { traceId, spanId, flags: parseInt(flags, 16) & sampledFlag };
}

/** Writes a `traceparent` of version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}

/** Returns a valid `traceparent` in the form of version 00, and `undefined` for anything else. */
export function validTraceparent(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const parsed = parseTraceparent(value);
  return parsed && formatTraceparent(parsed);
}
