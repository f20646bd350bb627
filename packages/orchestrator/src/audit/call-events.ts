import type { AuditReport, CallRecord } from '@signalbox/protocol';

/** The `detail` of a read of a kept result. Its parts cost nothing of a budget. */
export const keptResultRead = 'kept result';

/**
 * Describes the end of a call for the audit log. A call that was not started is a refusal; `rule` names the rule that refused it. `detail`
 * is a further text about a call that was started.
 */
export function callEvent(
  call: CallRecord,
  { rule, detail: more = '' }: { rule?: string | undefined; detail?: string } = {},
): AuditReport {
  const { agent, role, tool, server, outcome = 'internal', received_at, started_at } = call;
  const { request_id, thread, request_bytes, reply_bytes } = call;
  if (started_at === undefined && outcome !== 'outcome_unknown') {
    const detail = rule === undefined ? outcome : `${outcome}: ${rule}`;
    const waited_ms = Math.max(0, (call.finished_at ?? received_at) - received_at);
    return {
      code: 'call_refused',
      agent,
      role,
      name: tool,
      outcome,
      detail,
      rule,
      request_id,
      thread,
      waited_ms,
    };
  }
  const began = started_at ?? received_at;
  return {
    code: 'call_ended',
    agent,
    role,
    name: tool,
    outcome,
    detail: more,
    server,
    request_id,
    thread,
    waited_ms: Math.max(0, began - received_at),
    took_ms: Math.max(0, (call.finished_at ?? began) - began),
    request_bytes,
    reply_bytes,
  };
}
