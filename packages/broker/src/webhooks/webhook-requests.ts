import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, frameCosts, isGroup } from '@signalbox/protocol';
import type { Slices } from '@signalbox/serving';
import { json } from '@signalbox/serving/monitoring';
import type { NewMessage } from '@signalbox/store';
import { nanoid } from 'nanoid';
import { auditEvent } from '../audit-event.ts';
import { lifetimeOf, openUntil } from '../core/message-header.ts';
import type { DeliverResult } from '../core/producer.ts';
import { receiptOf } from '../frames/deliver/receipt.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import { addressOf } from './address-of.ts';
import { ClientLimits, type NoSlot, type Slot } from './client-limits.ts';
import { type HookRefusal, hookRefusals, refusalOf, refusedAnswer, sendAnswer } from './hook-answers.ts';
import { hookMessageBody, hookMessageId } from './hook-message.ts';
import { checkSignature } from './signature-check.ts';
import { type Hook, hookPath } from './webhooks.ts';

/** The dependencies of {@link WebhookRequests}. */
export type WebhookDeps = Pick<
  FrameDeps,
  | 'webhooks'
  | 'delivery'
  | 'store'
  | 'agents'
  | 'groups'
  | 'budgets'
  | 'limits'
  | 'metrics'
  | 'audit'
  | 'now'
  | 'monotonic'
  | 'log'
>;

/** The number of times that a delivery is stored anew. */
const maxRounds = 8;

/** A delivery that its sender proved. */
interface Delivery {
  hook: Hook;
  headers: IncomingMessage['headers'];
  content: Buffer;
  deliveryId: string | undefined;
}

/** Answers `POST /hooks/NAME`: stores the message, and then confirms it. */
export class WebhookRequests {
  readonly #deps: WebhookDeps;
  readonly #clients: ClientLimits;
  readonly #strangers: Slices;
  #isStopping = false;

  /** `strangers` are the slices that all unproved clients share. */
  constructor(deps: WebhookDeps, strangers: Slices) {
    this.#deps = deps;
    this.#strangers = strangers;
    this.#clients = new ClientLimits(deps.limits.forAll.webhooks, deps.monotonic);
  }

  /** Stores no more messages from now on. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Answers one request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request);
      if (answer === 'gone') return;
      if ('status' in answer) sendAnswer(request, response, refusedAnswer(request, answer));
      else sendAnswer(request, response, json(202, answer));
    } catch (error) {
      this.#deps.log({ level: 'error', event: 'webhook_failed', error });
      sendAnswer(request, response, refusedAnswer(request, refusalOf('internal')));
    }
  }

  async #answer(request: IncomingMessage): Promise<HookRefusal | { id: string; duplicate?: true } | 'gone'> {
    const { webhooks, metrics } = this.#deps;
    const address = addressOf(request);
    const tooMany = this.#clients.count(address);
    if (tooMany) return this.#full(tooMany, undefined);
    const path = URL.parse(request.url ?? '', 'http://localhost')?.pathname ?? '';
    const hook = webhooks.get(path.slice(hookPath.length));
    if (!hook) {
      metrics.refused('not_found');
      return hookRefusals.unknown;
    }
    if (request.method !== 'POST') return hookRefusals.method;
    if (this.#isStopping) return hookRefusals.stopping;
    const slot = this.#clients.take(address, hook.name);
    if ('message' in slot) return this.#full(slot, hook);
    using held = slot;
    return await this.#receive(request, hook, held);
  }

  async #receive(
    request: IncomingMessage,
    hook: Hook,
    slot: Slot,
  ): Promise<HookRefusal | { id: string; duplicate?: true } | 'gone'> {
    const { headers } = request;
    const { limits, now } = this.#deps;
    const check = checkSignature(hook, headers, now());
    const { bytes: max } = limits.forAll.webhooks;
    const content = await readBody(request, {
      max,
      onPiece: (piece) => {
        check.update(piece);
        this.#strangers.spend(frameCosts.hello);
        return slot.read(piece.length);
      },
    });
    if (content === 'gone') return 'gone';
    if (content === 'too_large') {
      this.#note(hook, 'message_too_large', `a body of more than ${max} bytes`);
      return hookRefusals.tooLarge;
    }
    const verdict = check.verdict();
    if ('refusal' in verdict) {
      this.#note(hook, 'unauthorized', verdict.refusal);
      return hookRefusals.unproven;
    }
    if (this.#isStopping) return hookRefusals.stopping;
    return (
      this.#refuse(hook, content.length) ??
      (await this.#store({ hook, headers, content, deliveryId: verdict.deliveryId }))
    );
  }

  /** Refuses a delivery above the rates of the role, or to an unknown agent or group. */
  #refuse({ sender, ...hook }: Hook, bytes: number): HookRefusal | undefined {
    const { budgets, limits, agents, groups, monotonic } = this.#deps;
    const budget = budgets.of(sender);
    const waitMs = budget.waitMs(monotonic());
    const excess =
      waitMs > 0 ? { waitMs, excess: budget.overdraft(limits) } : budget.takeMessage(monotonic(), limits);
    if (excess) {
      const { what, setting } = excess.excess;
      return this.#noted({ ...hook, sender }, 'rate_limited', `${what}; see ${setting}`, excess.waitMs);
    }
    budget.spendBytes(bytes);
    budget.spendFrames(frameCosts.deliver);
    if (isGroup(hook.to) ? groups.has(hook.to) : agents.has(hook.to)) return undefined;
    const message = `no agent or group '${hook.to}' is known, to which hooks.${hook.name} sends`;
    return this.#noted({ ...hook, sender }, 'unknown_recipient', message);
  }

  /**
   * Stores a delivery. One that comes again is stored once more only if its message was given up, taken away or has expired: somebody who
   * has it sent again wants it done.
   */
  async #store(given: Delivery): Promise<HookRefusal | { id: string; duplicate?: true }> {
    const stored = await this.#storeOnce(given);
    const { counts } = given.hook;
    if ('id' in stored) {
      counts.deliveredAt = this.#deps.now();
      counts[stored.duplicate ? 'repeated' : 'stored']++;
    }
    return stored;
  }

  async #storeOnce(given: Delivery): Promise<HookRefusal | { id: string; duplicate?: true }> {
    for (let round = 0; ; round++) {
      const stored = await this.#storeRound(given, round);
      if (!('duplicate' in stored) || round === maxRounds) return stored;
      const { to, sender } = given.hook;
      const found = await this.#deps.store.find(to, sender.agent, stored.id);
      if (found?.outcome === undefined || found.outcome === 'acked') return stored;
      if (found.outcome !== 'dead') continue;
      const { result } = await this.#deps.delivery.retryDead(found.seq);
      if (result === 'stored') return { id: stored.id };
      if (result !== 'unknown') return stored;
    }
  }

  async #storeRound(
    { hook, headers, content, deliveryId }: Delivery,
    round: number,
  ): Promise<HookRefusal | { id: string; duplicate?: true }> {
    const { delivery, groups, limits, now, log } = this.#deps;
    const body = hookMessageBody(headers, content, deliveryId);
    const own = limits.of(hook.sender.role);
    if (Buffer.byteLength(body) > own.message.bytes) {
      const detail = `the message would have more than ${own.message.bytes} bytes`;
      return this.#noted(hook, 'message_too_large', detail);
    }
    const createdAt = now();
    const expiresAt = createdAt + lifetimeOf(own.message);
    const message: NewMessage = {
      inbox: hook.to,
      id: deliveryId === undefined ? nanoid() : hookMessageId(hook.name, deliveryId, round),
      sender: hook.sender.agent,
      senderAddress: hook.sender.address,
      senderRole: hook.sender.role,
      kind: hook.kind,
      createdAt,
      expiresAt,
      openUntil: openUntil(hook.kind, expiresAt),
      body,
      quota: own,
    };
    const result = await new Promise<DeliverResult>((resolve) => {
      delivery.deliver(message, { sender: hook.sender, answer: (_, stored) => resolve(stored) });
    });
    if (result.result === 'failed') log({ level: 'error', event: 'commit_failed', error: result.error });
    const receipt = receiptOf(message, result, limits, {
      isLeased: (inbox) => delivery.isLeased(inbox),
      hasMembers: (group) => groups.hasMembers(group),
    });
    if (!('type' in receipt)) return this.#noted(hook, receipt.code, receipt.message);
    return { id: receipt.id, ...(receipt.duplicate && { duplicate: true as const }) };
  }

  #full({ isOwn, message, retryAfterMs }: NoSlot, hook: Hook | undefined): HookRefusal {
    if (hook) this.#note(hook, 'rate_limited', message);
    else this.#deps.metrics.refused('rate_limited');
    const refusal = refusalOf('rate_limited', retryAfterMs);
    return isOwn ? refusal : { ...refusal, status: 503, message: 'too many deliveries at once; try again' };
  }

  #noted(hook: Hook, code: ErrorCode, detail: string, retryAfterMs?: number): HookRefusal {
    this.#note(hook, code, detail);
    return refusalOf(code, retryAfterMs);
  }

  /** Counts and records a refusal. The operator learns the reason, and the sender does not. */
  #note({ name, sender: { agent, role }, counts }: Hook, code: ErrorCode, detail: string): void {
    const { metrics, audit, now } = this.#deps;
    metrics.refused(code);
    counts.refused.set(code, (counts.refused.get(code) ?? 0) + 1);
    counts.lastRefusal = { at: now(), reason: detail };
    audit.record(auditEvent(code, { at: now(), agent, role, name, detail }));
  }
}

/** Reads the body of a request, and calls `onPiece` for each piece, which returns the milliseconds until the next one is read. */
function readBody(
  request: IncomingMessage,
  { max, onPiece }: { max: number; onPiece: (piece: Buffer) => number },
): Promise<Buffer | 'too_large' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > max) return Promise.resolve('too_large');
  const { promise, resolve } = Promise.withResolvers<Buffer | 'too_large' | 'gone'>();
  let pieces: Buffer[] = [];
  let length = 0;
  let pause: NodeJS.Timeout | undefined;
  const end = (result: Buffer | 'too_large' | 'gone'): void => {
    clearTimeout(pause);
    request.off('data', take);
    pieces = [];
    resolve(result);
  };
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length > max) {
      end('too_large');
      return;
    }
    pieces.push(piece);
    const waitMs = onPiece(piece);
    if (waitMs === 0) return;
    request.pause();
    pause = setTimeout(() => request.resume(), waitMs);
  };
  request.on('data', take);
  request.once('end', () => end(Buffer.concat(pieces, length)));
  // The client has left, or was too slow.
  request.once('close', () => end('gone'));
  return promise;
}
