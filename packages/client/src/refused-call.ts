import type { ErrorCode, SignalboxError, ToolErrorCode } from '@signalbox/protocol';
import type { ClientErrorCode } from './errors.ts';

/** The code that the caller of a tool sees, for each code with which the request of the call can fail on its way. */
const toolCodes: Readonly<Record<ErrorCode | ClientErrorCode, ToolErrorCode>> = {
  quota_exceeded: 'quota_exceeded',
  rate_limited: 'quota_exceeded',
  inbox_full: 'quota_exceeded',
  storage_full: 'storage_full',
  // The request may have been stored.
  storage_unavailable: 'outcome_unknown',
  held: 'held',
  forbidden: 'permission_denied',
  unauthorized: 'permission_denied',
  forged_sender: 'permission_denied',
  message_too_large: 'invalid_arguments',
  invalid_message: 'invalid_arguments',
  no_consumer: 'mcp_server_unreachable',
  unknown_recipient: 'mcp_server_unreachable',
  shutting_down: 'mcp_server_unreachable',
  too_many_connections: 'mcp_server_unreachable',
  token_unchecked: 'mcp_server_unreachable',
  slow_consumer: 'mcp_server_unreachable',
  hello_timeout: 'mcp_server_unreachable',
  unreachable: 'mcp_server_unreachable',
  untrusted_socket: 'mcp_server_unreachable',
  untrusted_certificate: 'mcp_server_unreachable',
  wrong_scheme: 'mcp_server_unreachable',
  connection_lost: 'mcp_server_unreachable',
  closed: 'mcp_server_unreachable',
  taken_over: 'mcp_server_unreachable',
  inbox_in_use: 'mcp_server_unreachable',
  closed_by_broker: 'mcp_server_unreachable',
  timed_out: 'tool_timeout',
  aborted: 'cancelled',
  stopped_by_operator: 'cancelled',
  bad_frame: 'internal',
  unknown_frame: 'internal',
  bad_hello: 'internal',
  unsupported_protocol: 'internal',
  no_lease: 'internal',
  not_yours: 'internal',
  already_answered: 'internal',
  id_conflict: 'internal',
  unknown_token: 'internal',
  unknown_op: 'internal',
  unknown_hold: 'internal',
  not_working: 'internal',
  backup_failed: 'internal',
  internal: 'internal',
};

/** Returns the code of a tool call whose request did not get through. An error of another kind reads as `internal`. */
export function toolErrorCodeOf({ code }: SignalboxError): ToolErrorCode {
  return Object.hasOwn(toolCodes, code) ? toolCodes[code as keyof typeof toolCodes] : 'internal';
}
