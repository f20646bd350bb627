import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** A span as a collector gets it. */
export interface CollectedSpan {
  /** The process that made it. */
  process: string;
  name: string;
  kind: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  /** The ids of linked spans. */
  links: string[];
  attributes: Record<string, unknown>;
}

/** Stands in for a collector of OpenTelemetry: it takes spans by OTLP over HTTP, as JSON. */
export interface Collector extends AsyncDisposable {
  /** The variables with which a process of Node sends its spans here, as `name` or as the command of Signalbox that it runs. */
  env(name?: string): Record<string, string>;
  /** The spans of one trace so far, by process, kind and name, which must differ. */
  trace(traceId: string): Map<string, CollectedSpan>;
  spans(): CollectedSpan[];
}

interface OtlpSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links?: { spanId: string }[];
  attributes?: OtlpAttribute[];
}

interface OtlpAttribute {
  key: string;
  value: Record<string, unknown>;
}

interface OtlpRequest {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const registerSdk = fileURLToPath(new URL('./register-sdk.mjs', import.meta.url));

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as OtlpRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      const process = String(valuesOf(resource.attributes)['service.name']);
      for (const scope of scopeSpans) spans.push(...scope.spans.map((span) => collected(process, span)));
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    env: (name) => ({
      NODE_OPTIONS: `--import=${registerSdk}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      ...(name !== undefined && { OTEL_SERVICE_NAME: name }),
    }),
    trace: (traceId) =>
      new Map(
        spans
          .filter((span) => span.traceId === traceId)
          .map((span) => [`${span.process}: ${span.kind} ${span.name}`, span]),
      ),
    spans: () => spans,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Names the span that caused each span of a trace. */
export function causesIn(trace: ReadonlyMap<string, CollectedSpan>): Record<string, string | undefined> {
  const names = new Map([...trace].map(([name, { spanId }]) => [spanId, name]));
  return Object.fromEntries(
    [...trace].map(([name, { parentSpanId }]) => [
      name,
      parentSpanId && (names.get(parentSpanId) ?? 'remote'),
    ]),
  );
}

function collected(process: string, span: OtlpSpan): CollectedSpan {
  const { name, traceId, spanId, links = [], attributes = [] } = span;
  return {
    process,
    name,
    kind: kinds[span.kind] ?? 'unknown',
    traceId,
    spanId,
    parentSpanId: span.parentSpanId || undefined,
    links: links.map((link) => link.spanId),
    attributes: valuesOf(attributes),
  };
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
