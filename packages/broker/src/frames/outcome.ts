import type { BrokerFrame, ErrorCode } from '@signalbox/protocol';

/** The reason why a frame is refused. The connection is closed if the protocol's table has a close code for `code`. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  field?: string;
  /** The address that asked, if a reply goes to another. */
  reply_to?: string;
}

/** The result of handling a frame. `undefined` sends nothing now; the receipt of a message follows when it is durable. */
export type Outcome =
  | undefined
  | { answer: BrokerFrame }
  /** The answer is sent after the waiting messages. Then `afterwards` runs; its messages are sent after the answer. */
  | { answer: BrokerFrame; behindMessages: true; afterwards: () => void }
  /** The connection's later frames are handled only after `resumeAfterMs`. The caller is told `retryAfterMs`. */
  | { refusal: Refusal; retryAfterMs?: number; resumeAfterMs?: number }
  /** The connection's later frames are handled before this outcome is known. */
  | { later: Promise<Outcome> };

/** Refuses a frame that only orchestrators may send. */
export function forOrchestrators(type: string, role: string): Refusal {
  const message = `'${type}' is for orchestrators, and your role is '${role}'`;
  return { code: 'forbidden', message, field: 'type' };
}

/** Refuses a frame for a field that breaks a rule, and gives the reason. */
export function badField(field: string, why: string): Refusal {
  return { code: 'bad_frame', message: `field '${field}': ${why}`, field };
}
