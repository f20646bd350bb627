import type { Sender } from '@signalbox/protocol';
import type { AuditLog, TokenRecord } from '@signalbox/store';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Producer } from '../core/producer.ts';
import type { RateLimit } from './rate-limit.ts';

/** The sender of a connection's frames, with what it may do. */
export interface Caller {
  readonly token: TokenRecord;
  readonly sender: Sender;
  readonly isOperator: boolean;
  /** A minting token's connection may only issue and revoke child tokens. */
  readonly mintsOnly: boolean;
  /** The rules of its role, where they differ from the default. */
  readonly policy: RolePolicy | undefined;
  /** Bounds its messages; `undefined` for roles without a bound. */
  readonly rateLimit: RateLimit | undefined;
  /** Takes the messages of its inbox. */
  readonly consumer: Consumer;
  /** Is told what became of the messages that it sends. */
  readonly producer: Producer;
  /** False once its connection is over: nothing may be stored for it any more. */
  isConnected: boolean;
}

/** Notes in the audit log what a caller did, or was refused. */
export function auditCaller(
  { token, sender }: Pick<Caller, 'token' | 'sender'>,
  code: string,
  detail: string,
  { audit, now }: { audit: AuditLog; now: () => number },
): void {
  audit.record({ at: now(), tokenId: token.id, agent: sender.agent, code, detail });
}
