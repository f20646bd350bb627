import { errorCodes, type FrameRefusal, furtherCosts, isOperator, type Sender } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import type { DeliverResult, Producer } from '../core/producer.ts';
import { auditCaller } from '../frames/caller.ts';
import { type Recipients, receiptOf } from '../frames/deliver/receipt.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import type { Refusal } from '../frames/outcome.ts';
import type { AgentBudget } from '../limits/agent-budgets.ts';
import { isUnavailable, storeUnavailable } from '../store-unavailable.ts';
import type { Identity } from './handshake.ts';
import type { Outbox } from './outbox.ts';

/** The dependencies of a {@link Responder}. */
export type ResponderDeps = Pick<
  FrameDeps,
  'audit' | 'delivery' | 'groups' | 'followers' | 'limits' | 'metrics' | 'now' | 'log'
>;

/** Sends refusals and receipts to a connection. Refusals are also recorded in the audit log and reported to the tail. */
export class Responder implements Producer {
  readonly sender: Sender;
  readonly #identity: Identity;
  readonly #outbox: Outbox;
  readonly #budget: AgentBudget;
  readonly #deps: ResponderDeps;
  readonly #recipients: Recipients;

  constructor(identity: Identity, outbox: Outbox, budget: AgentBudget, deps: ResponderDeps) {
    this.sender = identity.sender;
    this.#identity = identity;
    this.#outbox = outbox;
    this.#budget = budget;
    this.#deps = deps;
    this.#recipients = {
      isLeased: (inbox) => deps.delivery.isLeased(inbox),
      hasMembers: (group) => deps.groups.hasMembers(group),
    };
  }

  /** Refuses a frame, or the connection if `refusal` has no id. */
  refuse(refusal: FrameRefusal & Refusal, retryAfterMs?: number): void {
    this.tell(refusal, retryAfterMs);
    const { code, message, field } = refusal;
    const { audit, followers, metrics, now } = this.#deps;
    metrics.refused(code);
    auditCaller(this.#identity, code, { detail: message, name: field }, { audit, now });
    if (followers.isOn) followers.refused(this.sender, refusal);
  }

  /** Sends an error that nobody has to look into. It is not recorded. */
  tell(
    { code, message, field, reply_to, id, request_id }: FrameRefusal & Refusal,
    retryAfterMs?: number,
  ): void {
    this.#budget.spendFrames(furtherCosts.refused);
    this.#outbox.send({
      type: 'error',
      code,
      message,
      field,
      reply_to,
      id,
      request_id,
      retryable: errorCodes[code].retryable,
      retry_after_ms: retryAfterMs,
    });
  }

  /** Sends the receipt of a message, or the reason why it was not stored. */
  answer(message: NewMessage, result: DeliverResult): void {
    if (result.result === 'failed') {
      this.#deps.log({ level: 'error', event: 'commit_failed', error: result.error });
    }
    const receipt = receiptOf(message, result, this.#deps.limits, this.#recipients);
    if ('type' in receipt) {
      this.#outbox.send(receipt);
      if (result.result === 'stored' && message.asked !== undefined) this.#answered(message, message.asked);
    } else this.refuse({ ...receipt, id: message.id });
  }

  /** Records that an operator has answered a request. */
  #answered({ correlationId, answers }: NewMessage, asked: string): void {
    if (!isOperator(this.sender.agent)) return;
    const { audit, now } = this.#deps;
    const detail = `the request '${correlationId}' of '${answers}'`;
    auditCaller(this.#identity, 'request_answered', { detail, name: asked }, { audit, now });
  }

  /** Logs an error that was thrown while a frame was handled, and refuses the frame as `internal`. */
  failed(error: unknown, ids: FrameIds): void {
    this.#deps.log({ level: 'error', event: 'connection_failed', agent: this.sender.agent, error });
    const message = 'the broker failed to handle this frame; its log says why';
    const refusal = isUnavailable(error) ? storeUnavailable : ({ code: 'internal', message } as const);
    this.refuse({ ...refusal, ...ids });
  }
}

/** The ids that a refusal copies from its frame, so that the client can tell which frame was refused. */
export type FrameIds = Pick<FrameRefusal, 'id' | 'request_id'>;
