import type { Amount } from '@signalbox/store';
import type { BatchUsage } from '@signalbox/store/rules';

/** The changes of a transaction in the row of an agent. */
export interface AgentChange {
  received: Amount;
  sent: Amount;
}

/** The changes of a transaction in the messages of a sender that wait for a recipient. */
export interface PairChange extends Amount {
  sender: string;
  recipient: string;
}

/** The fields of a message that decide against whom it counts. */
interface Counted {
  readonly sender: string;
  readonly isCounted: boolean;
}

/** Counts the stored amounts of each sender and for each recipient, from the loaded rows and the changes of a transaction. */
export class Counts implements BatchUsage {
  readonly agents = new Map<string, AgentChange>();
  readonly pairs = new Map<string, PairChange>();
  readonly #agents = new Map<string, AgentChange>();
  readonly #pairs = new Map<string, Amount>();

  loadAgent(name: string, loaded: AgentChange): void {
    this.#agents.set(name, loaded);
  }

  loadPair({ sender, recipient, ...amount }: PairChange): void {
    this.#pairs.set(pairKey(sender, recipient), amount);
  }

  received(agent: string): Readonly<Amount> | undefined {
    return sum(this.#agents.get(agent)?.received, this.agents.get(agent)?.received);
  }

  sent(sender: string): Readonly<Amount> | undefined {
    return sum(this.#agents.get(sender)?.sent, this.agents.get(sender)?.sent);
  }

  sentTo(sender: string, agent: string): Readonly<Amount> | undefined {
    const key = pairKey(sender, agent);
    return sum(this.#pairs.get(key), this.pairs.get(key));
  }

  /** Counts pending or scheduled messages for an agent. Negative numbers count messages that no longer are. */
  countWaiting(agent: string, { sender, isCounted }: Counted, messages: number, bytes: number): void {
    add(this.#change(agent).received, messages, bytes);
    if (!isCounted) return;
    add(this.#change(sender).sent, messages, bytes);
    const key = pairKey(sender, agent);
    const pair = this.pairs.get(key) ?? { sender, recipient: agent, messages: 0, bytes: 0 };
    add(pair, messages, bytes);
    this.pairs.set(key, pair);
  }

  /** Counts dead letters in the same way. */
  countDead(agent: string, { sender, isCounted }: Counted, messages: number, bytes: number): void {
    add(this.#change(agent).received, messages, bytes);
    if (isCounted) add(this.#change(sender).sent, messages, bytes);
  }

  #change(agent: string): AgentChange {
    const known = this.agents.get(agent);
    if (known) return known;
    const change = { received: { messages: 0, bytes: 0 }, sent: { messages: 0, bytes: 0 } };
    this.agents.set(agent, change);
    return change;
  }
}

/** Returns the key of a pair. Names of agents have no space. */
export function pairKey(sender: string, recipient: string): string {
  return `${sender} ${recipient}`;
}

function add(amount: Amount, messages: number, bytes: number): void {
  amount.messages += messages;
  amount.bytes += bytes;
}

function sum(a: Amount | undefined, b: Amount | undefined): Amount | undefined {
  if (!a || !b) return a ?? b;
  return { messages: a.messages + b.messages, bytes: a.bytes + b.bytes };
}
