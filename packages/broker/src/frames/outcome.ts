import type { BrokerFrame, ErrorCode } from '@signalbox/protocol';

/** Why a frame is refused. A code with a close code in the protocol's table closes the connection. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  field?: string;
}

/** What comes of a frame. `undefined` where nothing is said now: the receipt of a message follows when it is durable. */
export type Outcome =
  | undefined
  | { answer: BrokerFrame }
  /** The answer leaves behind the messages that wait to leave. `afterwards` runs then: its messages leave behind the answer. */
  | { answer: BrokerFrame; behindMessages: true; afterwards: () => void }
  /** `readOnAfterMs`: so long nothing more is read from the connection. */
  | { refusal: Refusal; retryAfterMs?: number; readOnAfterMs?: number }
  /** The frames behind this one do not wait for what comes of it. */
  | { later: Promise<Outcome> };
