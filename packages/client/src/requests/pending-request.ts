import type { DeliverFrame, SignalboxError } from '@signalbox/protocol';
import type { TracedSpan } from '@signalbox/serving/tracing';
import type { RequestOptions, RequestOutcome } from '../broker-client.ts';
import type { OpenLane } from '../lanes/open-lane.ts';
import type { Deadline } from './deadline-table.ts';
import type { Delivery, DeliveryOwner } from './delivery-table.ts';

/** The agent whose reply ends a request, any agent for a request of a group, and the kind of that reply. */
export interface ExpectedReply {
  readonly agent: string | undefined;
  readonly replyKind: string;
}

/** Called when the broker refused a request; returns true to have it tried again. */
export type OnRefused = (request: PendingRequest, error: SignalboxError, mayBeStored: boolean) => boolean;

/** Called when the request was sent without a receipt, and another broker answers now; returns true to have it sent to that one. */
export type OnBrokerReplaced = (request: PendingRequest) => boolean;

/** One request until it ends. */
export class PendingRequest implements DeliveryOwner {
  readonly #onRefused: OnRefused;
  readonly #onBrokerReplaced: OnBrokerReplaced;
  readonly frame: DeliverFrame;
  readonly options: RequestOptions;
  readonly expected: ExpectedReply;
  readonly resolve: (outcome: RequestOutcome) => void;
  isReceipted = false;
  /** The body of a request that was sent on a lane. */
  body: string | undefined;
  /** The lane on which it waits for its reply. */
  lane: OpenLane | undefined;
  /** True if its recipient may have begun it on a lane that was lost. */
  mayHaveBegun = false;
  /** The newest refusal of a request that is tried again. */
  refusal: SignalboxError | undefined;
  delivery: Delivery | undefined;
  deadline: Deadline | undefined;
  /** The time of the deadline on the client's clock. */
  expiresAt = Number.POSITIVE_INFINITY;
  /** The span of the sending, which ends with the receipt. */
  span: TracedSpan | undefined;
  onAbort: (() => void) | undefined;

  constructor(
    onRefused: OnRefused,
    onBrokerReplaced: OnBrokerReplaced,
    frame: DeliverFrame,
    options: RequestOptions,
    expected: ExpectedReply,
    resolve: (outcome: RequestOutcome) => void,
  ) {
    this.#onRefused = onRefused;
    this.#onBrokerReplaced = onBrokerReplaced;
    this.frame = frame;
    this.options = options;
    this.expected = expected;
    this.resolve = resolve;
  }

  receipted(duplicate: boolean): void {
    this.isReceipted = true;
    this.span?.end();
    this.refusal = undefined;
    this.options.onReceipt?.(duplicate);
  }

  refused(error: SignalboxError, mayBeStored: boolean): boolean {
    return this.#onRefused(this, error, mayBeStored);
  }

  brokerReplaced(): boolean {
    return this.#onBrokerReplaced(this);
  }

  /** True if the recipient may have received the request. */
  get hasLeft(): boolean {
    return (
      this.isReceipted || this.mayHaveBegun || this.lane !== undefined || this.delivery?.mayBeStored === true
    );
  }
}
