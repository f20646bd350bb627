import type { McpHost, ServerEvent } from '@signalbox/mcp-host';
import type { AuditTrail } from './audit-trail.ts';

const codes = {
  added: 'server_changed',
  removed: 'server_changed',
  changed: 'server_changed',
  ejected: 'server_ejected',
  refused: 'server_ejected',
  needs_auth: 'sign_in_needed',
  restored: 'server_restored',
  signed_in: 'sign_in_accepted',
  pinned: 'definitions_pinned',
} as const satisfies Record<ServerEvent['change'], string>;

/** Reports changes of the hosted servers' states to the audit log. Returns a function that ends the reports. */
export function auditServerEvents(
  trail: Pick<AuditTrail, 'record'>,
  host: Pick<McpHost, 'onServerEvent'>,
): () => void {
  return host.onServerEvent(({ server, instance, change, reason }) => {
    const what = instance === undefined ? change : `${change}: ${instance}`;
    trail.record({
      code: codes[change],
      name: server,
      detail: reason === undefined ? what : `${what}: ${reason}`,
    });
  });
}
