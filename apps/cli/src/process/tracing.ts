import { openTracing, type Tracing } from '@signalbox/serving/tracing';
import { ownVersion } from './version.ts';

/** Returns what makes the spans of this process; `undefined` unless an SDK of OpenTelemetry was loaded before us, as by `NODE_OPTIONS`. */
export function ownTracing(): Promise<Tracing | undefined> {
  return openTracing({ name: 'signalbox', version: ownVersion() });
}
