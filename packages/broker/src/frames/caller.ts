import {
  type AuditEventCode,
  type ErrorCode,
  isPermitted,
  type Limits,
  type Permission,
  type Sender,
} from '@signalbox/protocol';
import type { AuditEvent, AuditLog, TokenRecord } from '@signalbox/store';
import { auditEvent } from '../audit-event.ts';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Producer } from '../core/producer.ts';
import type { AgentBudget } from '../limits/agent-budgets.ts';

/** The sender of a connection's frames, with its permissions and its connection to the core. */
export interface Caller {
  readonly token: TokenRecord;
  readonly sender: Sender;
  /** True for a minting token, with which a caller may only issue and revoke child tokens. */
  readonly mintsOnly: boolean;
  /** The rules of its role; `undefined` if its role has the default rules. */
  readonly policy: RolePolicy | undefined;
  /** The limits of its role. */
  readonly limits: Limits;
  /** True for an operator or orchestrator: its messages have no caps of their own and may use the reserves. */
  readonly isPrivileged: boolean;
  /** The budget of its agent, over all its connections. */
  readonly budget: AgentBudget;
  /** Receives the messages of its inbox. */
  readonly consumer: Consumer;
  /** Receives the results of the messages that it sends. */
  readonly producer: Producer;
  /** True if it came over the broker's Unix socket, so that it runs on this machine. */
  readonly isOnUnixSocket: boolean;
  /** False once its connection is over. From then on none of its messages may be stored. */
  isConnected: boolean;
}

/** Tells whether a caller has one of the permissions that an operation needs. */
export function mayDo({ token }: Pick<Caller, 'token'>, needs: readonly Permission[]): boolean {
  return isPermitted(needs, token.permissions);
}

/** The subject of an event of the audit log: what happened in words, and the name of what it is about. */
interface EventSubject {
  detail: string;
  name?: string | undefined;
}

/** Makes the event of an action or a refusal of a caller for the audit log. `at` is in epoch milliseconds. */
export function callerEvent(
  { token, sender }: Pick<Caller, 'token' | 'sender'>,
  code: AuditEventCode | ErrorCode,
  { detail, name }: EventSubject,
  at: number,
): AuditEvent {
  const { agent, role } = sender;
  const who = { at, tokenId: token.id, agent, role, detail };
  return auditEvent(code, { ...who, ...(name !== undefined && { name }) });
}

/** Records an action or a refusal of a caller in the audit log. */
export function auditCaller(
  caller: Pick<Caller, 'token' | 'sender'>,
  code: AuditEventCode | ErrorCode,
  about: EventSubject,
  { audit, now }: { audit: Pick<AuditLog, 'record'>; now: () => number },
): void {
  audit.record(callerEvent(caller, code, about, now()));
}
