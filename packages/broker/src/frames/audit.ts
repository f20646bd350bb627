import type { AuditFrame, AuditReport, Sender } from '@signalbox/protocol';
import type { AuditEvent } from '@signalbox/store';
import { auditEvent } from '../audit-event.ts';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import { forOrchestrators, type Outcome } from './outcome.ts';

/** The time for which a frame may be on its way, in milliseconds: a client sends it again for half of that. */
const onItsWayMs = 60_000;

/** Handles `audit`: records the reports of an orchestrator. Its clock is believed as far as it fits that of the broker. */
export async function audit(
  { type, request_id, batch, sent_at: sentAt, events }: AuditFrame,
  { sender, token }: Pick<Caller, 'sender' | 'token'>,
  { audit: log, now }: Pick<FrameDeps, 'audit' | 'now'>,
): Promise<Outcome> {
  if (sender.role !== 'orchestrator') return { refusal: forOrchestrators(type, sender.role) };
  const came = now();
  const at = sentAt !== undefined && sentAt <= came && sentAt > came - onItsWayMs ? sentAt : came;
  await log.recordBatch(
    { from: sender.agent, id: batch },
    events.map((report) => eventOf(report, at, sender, token.id)),
  );
  return { answer: { type: 'audited', request_id } };
}

/** Makes the event of a report. Only the orchestrator vouches for the report's agent, so the entry names the orchestrator. */
function eventOf(report: AuditReport, sentAt: number, sender: Sender, tokenId: string): AuditEvent {
  const { code, ago_ms: agoMs = 0, count, agent, role, name, detail, ...facts } = report;
  const who =
    agent === undefined
      ? { tokenId, agent: sender.agent, role: sender.role, facts }
      : { agent, ...(role !== undefined && { role }), facts: { reported_by: sender.agent, ...facts } };
  return auditEvent(code, {
    at: Math.round(sentAt - agoMs),
    ...who,
    ...(name !== undefined && { name }),
    ...(count !== undefined && { count }),
    detail,
  } as Omit<AuditEvent, 'code' | 'kind' | 'merged'>);
}
