import type { Amount } from '../../caps.ts';

/** The stored amount of one sender, of messages that count against it. */
interface Sent extends Amount {
  /** Its pending messages by recipient agent. */
  readonly to: Map<string, Amount>;
}

/** The fields of a message that decide against whom it counts. */
export interface Counted {
  readonly sender: string;
  /** True if it counts against its sender. */
  readonly isCounted: boolean;
}

/**
 * Counts in memory the stored messages of each sender agent and for each recipient agent: pending and scheduled messages, and dead letters.
 * The counts are built from those of the store at the start and after a rollback.
 */
export class AgentUsage {
  readonly #received = new Map<string, Amount>();
  readonly #sent = new Map<string, Sent>();
  #pending = 0;
  #dead = 0;

  /** The number of pending messages of all agents. */
  get pending(): number {
    return this.#pending;
  }

  /** Returns, in no order, the agents for which something is stored, and perhaps some for which nothing is any more. */
  recipients(): Iterable<string> {
    return this.#received.keys();
  }

  /** The number of all dead letters. */
  get dead(): number {
    return this.#dead;
  }

  /** Returns the stored amount for an agent. */
  received(agent: string): Readonly<Amount> | undefined {
    return this.#received.get(agent);
  }

  /** Returns the stored amount of a sender that counts against it. */
  sent(sender: string): Readonly<Amount> | undefined {
    return this.#sent.get(sender);
  }

  /** Returns the pending amount of a sender for an agent that counts against the sender. */
  sentTo(sender: string, agent: string): Readonly<Amount> | undefined {
    return this.#sent.get(sender)?.to.get(agent);
  }

  /** Counts pending messages for an agent. Negative numbers count messages that are no longer pending. */
  countPending(agent: string, counted: Counted, messages: number, bytes: number): void {
    this.#pending += messages;
    this.#count(agent, counted, messages, bytes);
  }

  /** Counts messages that are not due in the same way: they count against agents as pending ones do. */
  countScheduled(agent: string, counted: Counted, messages: number, bytes: number): void {
    this.#count(agent, counted, messages, bytes);
  }

  /** Counts dead letters in the same way. */
  countDead(agent: string, { sender, isCounted }: Counted, messages: number, bytes: number): void {
    this.#dead += messages;
    add(amountAt(this.#received, agent), messages, bytes);
    if (isCounted) add(this.#sentBy(sender), messages, bytes);
  }

  /**
   * Forgets agents without stored messages. It is not done at once, because the next message of the same agent often comes a moment later.
   */
  forgetIdle(): void {
    for (const [agent, { messages }] of this.#received) if (messages === 0) this.#received.delete(agent);
    for (const [sender, { messages, to }] of this.#sent) {
      if (messages === 0) this.#sent.delete(sender);
      else for (const [agent, amount] of to) if (amount.messages === 0) to.delete(agent);
    }
  }

  clear(): void {
    this.#received.clear();
    this.#sent.clear();
    this.#pending = 0;
    this.#dead = 0;
  }

  #count(agent: string, { sender, isCounted }: Counted, messages: number, bytes: number): void {
    add(amountAt(this.#received, agent), messages, bytes);
    if (!isCounted) return;
    const sent = this.#sentBy(sender);
    add(sent, messages, bytes);
    add(amountAt(sent.to, agent), messages, bytes);
  }

  #sentBy(sender: string): Sent {
    const known = this.#sent.get(sender);
    if (known) return known;
    const sent = { messages: 0, bytes: 0, to: new Map<string, Amount>() };
    this.#sent.set(sender, sent);
    return sent;
  }
}

function amountAt(amounts: Map<string, Amount>, agent: string): Amount {
  const known = amounts.get(agent);
  if (known) return known;
  const amount = { messages: 0, bytes: 0 };
  amounts.set(agent, amount);
  return amount;
}

function add(amount: Amount, messages: number, bytes: number): void {
  amount.messages += messages;
  amount.bytes += bytes;
}
