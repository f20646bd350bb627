// Registers OpenTelemetry's SDK in a process that is started with --import of this file, as its users do. Spans leave at once.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';

// All children of `up` have its environment: their commands tell them apart.
const [command, part] = process.argv.slice(2);
const name = process.env.OTEL_SERVICE_NAME ?? (command === 'worker' ? part : command);
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': name }),
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
let isOver = false;
process.on('beforeExit', () => {
  if (!isOver) void provider.shutdown();
  isOver = true;
});
