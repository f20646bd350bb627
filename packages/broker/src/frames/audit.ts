import type { AuditFrame } from '@signalbox/protocol';
import { auditCaller, type Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `audit`: records an event of an orchestrator under the identity of its token. */
export function audit(
  { request_id, code, detail }: AuditFrame,
  caller: Caller,
  deps: Pick<FrameDeps, 'audit' | 'now'>,
): Outcome {
  const { role } = caller.sender;
  if (role !== 'orchestrator') {
    const message = `'audit' is for orchestrators, and your role is '${role}'`;
    return { refusal: { code: 'forbidden', message, field: 'type' } };
  }
  auditCaller(caller, code, detail, deps);
  return { answer: { type: 'audited', request_id } };
}
