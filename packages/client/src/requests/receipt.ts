import type { CancelSignal, DeliverFrame, SignalboxError } from '@signalbox/protocol';
import type { Receipt } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { brokerReplacedError, clientError } from '../errors.ts';
import type { Deadline, DeadlineTable } from './deadline-table.ts';
import type { Delivery, DeliveryOwner, DeliveryTable, ReceiptFacts } from './delivery-table.ts';

export interface ReceiptDeps {
  readonly deliveries: DeliveryTable;
  readonly deadlines: DeadlineTable;
  readonly clock: Clock;
  readonly isConnected: boolean;
}

/** A message whose header was checked and whose body is encoded. */
export interface MessageToSend {
  frame: DeliverFrame;
  body: string | undefined;
  /** The longest wait for the receipt. */
  timeoutMs: number;
  signal: CancelSignal | undefined;
}

/** Sends a message and resolves with its receipt; rejects if it is refused, aborted or out of time. */
export function awaitReceipt(message: MessageToSend, deps: ReceiptDeps): Promise<Receipt> {
  const { frame, signal } = message;
  if (signal?.aborted) return Promise.reject(abortError(frame.id, false, signal));
  return new Promise((resolve, reject) => {
    new ReceiptWaiter(message, deps, resolve, reject).start();
  });
}

/** Waits for the receipt of one message, up to its time limit. */
class ReceiptWaiter implements DeliveryOwner {
  readonly #message: MessageToSend;
  readonly #deps: ReceiptDeps;
  readonly #resolve: (receipt: Receipt) => void;
  readonly #reject: (error: Error) => void;
  #delivery: Delivery | undefined;
  #deadline: Deadline | undefined;
  #onAbort: (() => void) | undefined;

  constructor(
    message: MessageToSend,
    deps: ReceiptDeps,
    resolve: (receipt: Receipt) => void,
    reject: (error: Error) => void,
  ) {
    this.#message = message;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { frame, body, timeoutMs, signal } = this.#message;
    const { deliveries, deadlines, clock } = this.#deps;
    this.#delivery = deliveries.add({
      frame,
      body,
      owner: this,
      expiresAt: undefined,
      endsWhenSent: frame.ephemeral === true,
    });
    this.#deadline = deadlines.add(clock.now() + timeoutMs, () => this.#timedOut());
    if (signal === undefined) return;
    this.#onAbort = () => this.#giveUp(abortError(frame.id, this.#mayBeStored, signal));
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  receipted(duplicate: boolean, _waits: boolean, facts?: ReceiptFacts): void {
    this.#stopWaiting();
    const { id } = this.#message.frame;
    this.#resolve(facts === undefined ? { id, duplicate } : { id, duplicate, ...facts });
  }

  refused(error: SignalboxError, mayBeStored: boolean): boolean {
    if (mayBeStored && error.retryable) return true;
    this.#stopWaiting();
    this.#reject(error);
    return false;
  }

  brokerReplaced(): boolean {
    this.#stopWaiting();
    this.#reject(brokerReplacedError(this.#message.frame));
    return false;
  }

  closed(error: SignalboxError): void {
    this.#stopWaiting();
    this.#reject(error);
  }

  get #mayBeStored(): boolean {
    return this.#delivery?.mayBeStored === true;
  }

  #timedOut(): void {
    const { frame, timeoutMs } = this.#message;
    const text = `no receipt for the message to ${frame.to} within ${timeoutMs} ms`;
    const details = { id: frame.id, mayBeStored: this.#mayBeStored };
    this.#giveUp(clientError(this.#deps.isConnected ? 'timed_out' : 'connection_lost', text, { details }));
  }

  #giveUp(error: Error): void {
    if (this.#delivery !== undefined) this.#deps.deliveries.drop(this.#delivery);
    this.#stopWaiting();
    this.#reject(error);
  }

  #stopWaiting(): void {
    if (this.#deadline !== undefined) this.#deps.deadlines.cancel(this.#deadline);
    if (this.#onAbort !== undefined) this.#message.signal?.removeEventListener('abort', this.#onAbort);
  }
}

function abortError(id: string, mayBeStored: boolean, signal: CancelSignal): Error {
  return clientError('aborted', 'the deliver was aborted before its receipt', {
    cause: signal.reason,
    details: { id, mayBeStored },
  });
}
