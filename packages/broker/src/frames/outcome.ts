import type { BrokerFrame, ErrorCode } from '@signalbox/protocol';

/** The reason why a frame is refused. A code that has a close code in the protocol's table closes the connection. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  field?: string;
}

/** The result of handling a frame. `undefined` says nothing: the receipt of a message follows when it is durable. */
export type Outcome =
  | undefined
  | { answer: BrokerFrame }
  /** The answer leaves behind the messages that wait to leave. `afterwards` runs then: its messages leave behind the answer. */
  | { answer: BrokerFrame; behindMessages: true; afterwards: () => void }
  /** Nothing more is read from the connection for `readOnAfterMs`. */
  | { refusal: Refusal; retryAfterMs?: number; readOnAfterMs?: number }
  /** The frames behind this one do not wait for its outcome. */
  | { later: Promise<Outcome> };
