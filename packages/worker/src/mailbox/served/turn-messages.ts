import type { BrokerClient } from '@signalbox/client';
import { type PeekedMessage, parseJson } from '@signalbox/protocol';
import { type CheckedOutMessage, checkedOutOf } from '../inbox/checked-out-messages.ts';

/** The turn of a served agent for which a process was started. */
export interface TurnRef {
  /** The sequence numbers of its messages. */
  seqs: readonly number[];
  /** The group that they were taken from; without it they are in the agent's own inbox. */
  group?: string | undefined;
  /** The thread of its messages, which its tool calls are in too; absent if they are of several. */
  thread?: string | undefined;
}

/** The most messages of an inbox among which one is looked for by its id. */
const maxLooked = 2_000;
const pageMessages = 200;

/** Shows the messages in the inbox of a served agent, which `worker serve` holds, and takes nothing. */
export interface TurnMessages {
  /** Returns the messages of this turn, except those that are settled. */
  ofTurn(): Promise<CheckedOutMessage[]>;
  /** Returns the oldest messages that wait for other turns and that nobody works on, at most `limit`, and how many are held back until a hold ends. */
  ofOthers(limit: number): Promise<{ others: CheckedOutMessage[]; heldBack: number }>;
  /** Finds waiting messages by their id. */
  withId(id: string, from: string | undefined): Promise<CheckedOutMessage[]>;
}

/** Opens the view of one turn. `now` returns monotonic milliseconds. */
export function turnMessages(
  client: Pick<BrokerClient, 'agent' | 'peek'>,
  { seqs: turn, group }: TurnRef,
  now: () => number,
): TurnMessages {
  const address = group ?? client.agent;
  const ofTurn = async (): Promise<CheckedOutMessage[]> => {
    const found = await Promise.all(turn.map((seq) => client.peek({ address, after: seq - 1, limit: 1 })));
    return found
      .flat()
      .filter(({ seq }) => turn.includes(seq ?? 0))
      .map((one) => readMessage(one, now()));
  };
  return {
    ofTurn,
    async ofOthers(limit) {
      let heldBack = 0;
      const peeked = await client.peek({
        ...{ address, limit: Math.min(pageMessages, limit + turn.length) },
        onHeldBack: (messages) => {
          heldBack = messages;
        },
      });
      const others = peeked.filter(({ seq, working }) => !working && !turn.includes(seq ?? 0));
      return { others: others.slice(0, limit).map((one) => readMessage(one, now())), heldBack };
    },
    async withId(id, from) {
      const isWanted = (one: { id: string; from: { agent: string } }): boolean =>
        one.id === id && (from === undefined || one.from.agent === from);
      // Any member of a group may take its waiting messages. Only the member that took a message may answer it.
      if (group !== undefined) return (await ofTurn()).filter(({ message }) => isWanted(message));
      let after = 0;
      for (let looked = 0; looked < maxLooked; looked += pageMessages) {
        const page = await client.peek({ address, after, limit: pageMessages, bodies: false });
        const found = page.filter(isWanted);
        if (found.length > 0) return found.map((one) => readMessage(one, now()));
        const last = page.at(-1)?.seq;
        if (last === undefined) break;
        after = last;
      }
      return [];
    },
  };
}

function readMessage(message: PeekedMessage, now: number): CheckedOutMessage {
  const { seq = 0, body } = message;
  return checkedOutOf({ seq, message, json: jsonOf(body), receivedAt: now }, undefined);
}

/** Reads a body as JSON; a body that is not JSON is returned as text. */
function jsonOf(body: string | undefined): unknown {
  try {
    return body === undefined ? null : parseJson(body);
  } catch {
    return body;
  }
}
