import type { Limits, Sender } from '@signalbox/protocol';
import type { AuditLog, TokenRecord } from '@signalbox/store';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Producer } from '../core/producer.ts';
import type { AgentBudget } from '../limits/agent-budgets.ts';

/** The sender of a connection's frames, with its permissions and its connection to the core. */
export interface Caller {
  readonly token: TokenRecord;
  readonly sender: Sender;
  readonly isOperator: boolean;
  /** True for a minting token, with which a caller may only issue and revoke child tokens. */
  readonly mintsOnly: boolean;
  /** The rules of its role. `undefined` if its role has the default rules. */
  readonly policy: RolePolicy | undefined;
  /** The limits of its role. */
  readonly limits: Limits;
  /** What its agent may still use, over all its connections. */
  readonly budget: AgentBudget;
  /** Receives the messages of its inbox. */
  readonly consumer: Consumer;
  /** Receives the results of the messages that it sends. */
  readonly producer: Producer;
  /** False once its connection is over. No message of its may be stored then. */
  isConnected: boolean;
}

/** Records in the audit log what a caller did, or what it was refused. */
export function auditCaller(
  { token, sender }: Pick<Caller, 'token' | 'sender'>,
  code: string,
  detail: string,
  { audit, now }: { audit: AuditLog; now: () => number },
): void {
  audit.record({ at: now(), tokenId: token.id, agent: sender.agent, code, detail });
}
