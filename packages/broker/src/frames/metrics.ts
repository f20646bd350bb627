import { type MetricsFrame, orchestratorFigureLimits, servesCalls } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import { forOrchestrators, type Outcome } from './outcome.ts';

/** Handles `metrics`: keeps the report of an orchestrator until its next report, or until it disconnects. */
export function metrics(
  { type, problems }: MetricsFrame,
  caller: Caller,
  { reports }: Pick<FrameDeps, 'reports'>,
  body = '{}',
): Outcome {
  const { role } = caller.sender;
  if (!servesCalls(role)) return { refusal: forOrchestrators(type, role) };
  const bytes = Buffer.byteLength(body);
  if (bytes > orchestratorFigureLimits.bytes) {
    const message = `the figures have ${bytes} bytes; at most ${orchestratorFigureLimits.bytes} are kept`;
    return { refusal: { code: 'message_too_large', message, field: 'body' } };
  }
  reports.report(caller, { problems, body });
  return undefined;
}
