#!/usr/bin/env bash
# The same span loses numbers by one exporter of OpenTelemetry and keeps them by the other. @opentelemetry/exporter-trace-otlp-http 0.301.0
# (JSON) writes an attribute of Infinity or NaN as a double of null, which protobuf's JSON reads as no value, and a whole number from 2^63
# on as an integer of 64 bits, which it is not: a reader that keeps to the rules, as @bufbuild/protobuf 2.17.0, refuses it.
# exporter-trace-otlp-proto writes both as doubles.
#
# Seen on Linux with Node 24: attribute, JSON, whether protobuf's JSON takes that, and the other exporter's field:
#   5: {"intValue":5}, taken; intValue
#   Infinity: {"doubleValue":null}, no value; doubleValue Infinity
#   NaN: {"doubleValue":null}, no value; doubleValue NaN
#   9223372036854776000: {"intValue":9223372036854776000}, refused; doubleValue 9223372036854776000
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @opentelemetry/exporter-trace-otlp-{http,proto}@0.301.0 \
  @opentelemetry/{api@1.10.0,sdk-trace@3.1.0} @bufbuild/protobuf@2.17.0 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fromJson } from '@bufbuild/protobuf';
import { Int64ValueSchema } from '@bufbuild/protobuf/wkt';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { TracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
const bodies = {};
const server = createServer(async (request, response) => {
  bodies[request.url] = await buffer(request);
  response.end();
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;
const exporters = [new JsonExporter({ url: `${url}/json` }), new ProtobufExporter({ url: `${url}/protobuf` })];
const provider = new TracerProvider({ spanProcessors: exporters.map((exporter) => new SimpleSpanProcessor({ exporter })) });
for (const number of [5, Infinity, NaN, 2 ** 63]) {
  provider.getTracer('finding').startSpan('work', { attributes: { number } }).end();
  await provider.forceFlush();
  const [{ value }] = JSON.parse(bodies['/json']).resourceSpans[0].scopeSpans[0].spans[0].attributes;
  const take = () => {
    if (value.doubleValue === null) return 'no value';
    fromJson(Int64ValueSchema, value.intValue);
    return 'taken';
  };
  let told;
  try {
    told = take();
  } catch {
    told = 'refused';
  }
  // After the key: the tag and the length of the value, and the tag of the field that it has.
  const at = bodies['/protobuf'].indexOf('number') + 'number'.length + 2;
  const field = bodies['/protobuf'][at] === 0x21 ? `doubleValue ${bodies['/protobuf'].readDoubleLE(at + 1)}` : 'intValue';
  console.log(`${number}: ${JSON.stringify(value)}, ${told}; ${field}`);
}
await provider.shutdown();
server.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
5: {"intValue":5}, taken; intValue
Infinity: {"doubleValue":null}, no value; doubleValue Infinity
NaN: {"doubleValue":null}, no value; doubleValue NaN
9223372036854776000: {"intValue":9223372036854776000}, refused; doubleValue 9223372036854776000
TXT
