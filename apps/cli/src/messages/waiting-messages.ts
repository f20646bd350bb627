import type { BrokerClient } from '@signalbox/client';
import { listHolds, listTokens } from '@signalbox/client/operator';
import type { WaitingQuestions } from '@signalbox/client/operator/internal';
import { agentOf, type Hold, type Message, SignalboxError } from '@signalbox/protocol';
import { holdText, isOnAgent, suggestion } from '@signalbox/protocol/internal';
import { count } from '../terminal/output.ts';

const maxPage = 1000;

/**
 * Reads the first `limit` messages that wait at an address, without taking them; `more` says whether others wait, and `heldBack` how many
 * wait until a hold ends. The broker answers with as many at a time as fit its own limit of bytes.
 */
export async function readWaiting(
  client: BrokerClient,
  address: string,
  limit: number,
): Promise<{ messages: Message[]; more: boolean; heldBack: number }> {
  const messages: Message[] = [];
  const held = { back: 0 };
  for await (const message of waiting(client, address, { limit: limit + 1, held })) messages.push(message);
  return { messages: messages.slice(0, limit), more: messages.length > limit, heldBack: held.back };
}

/** Returns those of the messages of the client's inbox that nobody has settled. */
export async function stillWaiting(client: BrokerClient, messages: readonly Message[]): Promise<Message[]> {
  const found: Message[] = [];
  for (const message of messages) {
    const [next] = await client.peek({ after: message.seq! - 1, limit: 1, bodies: false });
    if (next?.seq === message.seq) found.push(message);
  }
  return found;
}

/** Counts the messages of an inbox that wait until a hold ends. */
export async function countHeldBack(client: BrokerClient, address: string): Promise<number> {
  let heldBack = 0;
  await client.peek({
    address,
    limit: 1,
    bodies: false,
    onHeldBack: (messages) => {
      heldBack = messages;
    },
  });
  return heldBack;
}

/** Lists the holds on an agent, for operators. */
export async function holdsOn(client: BrokerClient, address: string): Promise<Hold[]> {
  const agent = agentOf(address);
  const [holds, tokens, { connections }] = await Promise.all([
    listHolds(client),
    listTokens(client),
    client.findRecipient(agent),
  ]);
  const roles = new Set(['', ...connections.map(({ role }) => role)]);
  for (const token of tokens) if (token.agent === agent) roles.add(token.role);
  return holds.filter((hold) => [...roles].some((role) => isOnAgent(hold, { agent, role })));
}

/** Says that mail waits until a hold ends; an agent is not told whose it is. */
export function heldBackText(address: string, heldBack: number, holds?: readonly Hold[]): string {
  const waits = `${count(heldBack, 'message')} ${heldBack === 1 ? 'is' : 'are'} held back`;
  if (holds === undefined) return `${waits}: an operator holds ${agentOf(address)}, until the release`;
  return `${waits} from ${agentOf(address)}: ${holds.map(holdText).join('; ')}`;
}

/**
 * Finds the message with this id that waits at an address, without taking it. Two senders may use the same id: `from` says whose
 * message is meant. Rejects with `unknown_message`, or with `usage` if there are several.
 */
export async function findWaiting(
  client: BrokerClient,
  address: string,
  { id, from }: { id: string; from?: string },
): Promise<Message> {
  const found: Message[] = [];
  const held = { back: 0 };
  const senders = new Set<string>();
  for await (const message of waiting(client, address, { held })) {
    senders.add(message.from.agent);
    if (message.id === id && (from === undefined || message.from.agent === from)) found.push(message);
  }
  const [message, ...others] = found;
  if (!message) throw noSuchMessage(address, id, { from, senders, heldBack: held.back });
  if (others.length > 0) {
    const senders = found.map((one) => one.from.agent).join(', ');
    throw new SignalboxError('usage', `${found.length} messages have the id '${id}', from ${senders}`, {
      details: { hint: 'say whose you mean with --from NAME' },
    });
  }
  return message;
}

function noSuchMessage(
  address: string,
  id: string,
  { from, senders, heldBack }: { from: string | undefined; senders: ReadonlySet<string>; heldBack: number },
): SignalboxError {
  const gone =
    'signalbox inbox lists what waits; a message that was taken or answered, or has expired, is gone';
  const near = from === undefined || senders.has(from) ? '' : suggestion(from, senders);
  const sender = from === undefined ? '' : ` from '${from}'${near}`;
  return new SignalboxError(
    'unknown_message',
    `no message '${id}'${sender} waits in the inbox '${address}'`,
    {
      details: {
        hint: heldBack > 0 ? `it may be held back: ${heldBackText(address, heldBack)}` : gone,
      },
    },
  );
}

async function* waiting(
  client: BrokerClient,
  address: string,
  { limit = Number.POSITIVE_INFINITY, held }: { limit?: number; held: { back: number } },
): AsyncGenerator<Message> {
  let after: number | undefined;
  for (let left = limit; left > 0; ) {
    const page = await client.peek({
      address,
      limit: Math.min(left, maxPage),
      // The first page tells of the whole inbox.
      ...(after === undefined
        ? {
            onHeldBack: (messages) => {
              held.back = messages;
            },
          }
        : { after }),
    });
    if (page.length === 0) return;
    yield* page;
    left -= page.length;
    after = page.at(-1)?.seq;
  }
}

/** Says how many questions wait for operators, each with the command that lists them. */
export function questionLines(questions: readonly WaitingQuestions[]): string[] {
  return questions.map(({ asked, waiting, own }) => {
    const waits = `${count(waiting, 'question')} ${waiting === 1 ? 'waits' : 'wait'}`;
    return own ? `${waits}: signalbox inbox` : `${waits} for ${asked}: signalbox inbox --of ${asked}`;
  });
}
