import { type AuditEventCode, auditCodes, type ErrorCode } from '@signalbox/protocol';
import type { AuditEvent } from '@signalbox/store';

/** Makes an event for the audit log. Its code determines its kind, and whether its repeats are counted together. */
export function auditEvent(
  code: AuditEventCode | ErrorCode,
  fields: Omit<AuditEvent, 'code' | 'kind' | 'merged'>,
): AuditEvent {
  const { kind, merged = false } = auditCodes[code];
  return { ...fields, code, kind, merged };
}
