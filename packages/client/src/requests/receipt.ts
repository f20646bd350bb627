import type { DeliverFrame, SignalboxError } from '@signalbox/protocol';
import type { Deadline, DeadlineTable } from '../deadline-table.ts';
import { clientError } from '../errors.ts';
import type { Delivery, DeliveryOwner, DeliveryTable } from './delivery-table.ts';

export interface ReceiptPorts {
  deliveries: DeliveryTable;
  deadlines: DeadlineTable;
  now: () => number;
  isConnected: () => boolean;
}

interface Sending {
  frame: DeliverFrame;
  body: string | undefined;
  /** For the receipt. */
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** What a receipt says of its message. */
export interface Receipt {
  id: string;
  duplicate: boolean;
}

/** Sends a message and resolves with its receipt; rejects if it is refused, aborted or out of time. */
export function awaitReceipt(sending: Sending, ports: ReceiptPorts): Promise<Receipt> {
  const { frame, signal } = sending;
  if (signal?.aborted) return Promise.reject(aborted(frame.id, false, signal));
  return new Promise((resolve, reject) => {
    new ReceiptWaiter(sending, ports, resolve, reject).start();
  });
}

class ReceiptWaiter implements DeliveryOwner {
  readonly #sending: Sending;
  readonly #ports: ReceiptPorts;
  readonly #resolve: (receipt: Receipt) => void;
  readonly #reject: (error: Error) => void;
  #deliver: Delivery | undefined;
  #deadline: Deadline | undefined;
  #onAbort: (() => void) | undefined;

  constructor(
    sending: Sending,
    ports: ReceiptPorts,
    resolve: (receipt: Receipt) => void,
    reject: (error: Error) => void,
  ) {
    this.#sending = sending;
    this.#ports = ports;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { frame, body, timeoutMs, signal } = this.#sending;
    const { deliveries, deadlines, now } = this.#ports;
    this.#deliver = deliveries.add({
      frame,
      body,
      owner: this,
      expiresAt: undefined,
      sentIsEnough: frame.ephemeral === true,
    });
    this.#deadline = deadlines.add(now() + timeoutMs, () => this.#timedOut());
    if (signal === undefined) return;
    this.#onAbort = () => this.#giveUp(aborted(frame.id, this.#mayBeStored, signal));
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  receipted(duplicate: boolean): void {
    this.#finish();
    this.#resolve({ id: this.#sending.frame.id, duplicate });
  }

  refused(error: SignalboxError, mayBeStored: boolean): boolean {
    if (mayBeStored && error.retryable) return true;
    this.#finish();
    this.#reject(error);
    return false;
  }

  closed(error: SignalboxError): void {
    this.#finish();
    this.#reject(error);
  }

  get #mayBeStored(): boolean {
    return this.#deliver?.mayBeStored === true;
  }

  #timedOut(): void {
    const { frame, timeoutMs } = this.#sending;
    const text = `no receipt for the message to ${frame.to} within ${timeoutMs} ms`;
    const details = { id: frame.id, mayBeStored: this.#mayBeStored };
    this.#giveUp(clientError(this.#ports.isConnected() ? 'timed_out' : 'connection_lost', text, { details }));
  }

  #giveUp(error: Error): void {
    if (this.#deliver !== undefined) this.#ports.deliveries.drop(this.#deliver);
    this.#finish();
    this.#reject(error);
  }

  #finish(): void {
    if (this.#deadline !== undefined) this.#ports.deadlines.cancel(this.#deadline);
    if (this.#onAbort !== undefined) this.#sending.signal?.removeEventListener('abort', this.#onAbort);
  }
}

function aborted(id: string, mayBeStored: boolean, signal: AbortSignal): Error {
  return clientError('aborted', 'the deliver was aborted before its receipt', {
    cause: signal.reason,
    details: { id, mayBeStored },
  });
}
