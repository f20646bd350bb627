import { ApiTracing } from './api-tracing.ts';
import type { Tracing } from './tracing.ts';

/** The name under which all copies of version 1 of OpenTelemetry's API keep what an SDK has registered. */
const registry = Symbol.for('opentelemetry.js.api.1');

/**
 * Returns the tracing of this process, or `undefined` if no SDK of OpenTelemetry has registered a tracer provider yet. In that case
 * OpenTelemetry's API is not loaded, which would take longer than many commands. `scope` names the code that makes the spans.
 */
export async function openTracing(scope: { name: string; version?: string }): Promise<Tracing | undefined> {
  if (!(registry in globalThis)) return undefined;
  const api = await import('@opentelemetry/api');
  const provider = api.trace.getTracerProvider();
  const { name, version } = scope;
  // Only the API's proxy tells whether a provider was registered: then it has a delegate.
  const tracer =
    provider instanceof api.ProxyTracerProvider
      ? provider.getDelegateTracer(name, version)
      : provider.getTracer(name, version);
  return tracer && new ApiTracing(api, tracer);
}
