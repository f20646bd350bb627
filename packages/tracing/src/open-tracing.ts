import { ApiTracing } from './api-tracing.ts';
import type { Tracing } from './tracing.ts';

/** The name under which all copies of version 1 of OpenTelemetry's API keep what an SDK has registered. */
const registry = Symbol.for('opentelemetry.js.api.1');

/**
 * Returns the tracing of this process, if an SDK of OpenTelemetry has registered a tracer provider by now; `undefined` if not. Then
 * not even OpenTelemetry's API is loaded, which takes longer than many a command. `scope` names who makes the spans.
 */
export async function openTracing(scope: { name: string; version?: string }): Promise<Tracing | undefined> {
  if (!(registry in globalThis)) return undefined;
  const api = await import('@opentelemetry/api');
  const provider = api.trace.getTracerProvider();
  const { name, version } = scope;
  // The provider that stands in until one is registered is the only one that has a way to say so.
  const tracer =
    provider instanceof api.ProxyTracerProvider
      ? provider.getDelegateTracer(name, version)
      : provider.getTracer(name, version);
  return tracer && new ApiTracing(api, tracer);
}
