import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';
import { expect, it } from 'vitest';
import { openTracing } from './open-tracing.ts';

const require = createRequire(import.meta.url);

/** A copy of OpenTelemetry's API that no other module has, as an SDK elsewhere brings it. */
function ownCopy(): typeof Api {
  for (const file of Object.keys(require.cache)) {
    if (file.includes('@opentelemetry/api/')) delete require.cache[file];
  }
  return require('@opentelemetry/api');
}

it('is there if an SDK has registered a provider with another copy of the API, and only then', async () => {
  const scope = { name: 'test', version: '1' };
  expect(await openTracing(scope)).toBeUndefined();
  const ours = await import('@opentelemetry/api');
  const { trace, INVALID_SPAN_CONTEXT } = ownCopy();
  expect(trace).not.toBe(ours.trace);
  const span = trace.wrapSpanContext({ ...INVALID_SPAN_CONTEXT, spanId: 'b7ad6b7169203331' });
  const asked: unknown[] = [];
  const getTracer = (...args: unknown[]) => {
    asked.push(args);
    return { startSpan: () => span } as unknown as Api.Tracer;
  };
  trace.setGlobalTracerProvider({ getTracer });
  try {
    const tracing = await openTracing(scope);
    const begun = tracing?.begin({ name: 'n', kind: 'client', parent: undefined, attributes: {} });
    expect(begun?.traceparent).toContain('b7ad6b7169203331');
    expect(asked).toEqual([['test', '1', undefined]]);
  } finally {
    trace.disable();
  }
  expect(await openTracing(scope)).toBeUndefined();
});
