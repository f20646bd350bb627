import { type AgentInterface, type Message, Part, Role, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import {
  A2AError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { figure } from '@signalbox/protocol/internal';
import { plainLine } from '../../../runner/output/output-tail.ts';
import { keptEndBytes, TurnStream, textWithCut } from '../../turn-output.ts';
import { hashOf, maxIdLength } from '../noted-tasks.ts';
import { type Peer, PeerError, type PeerMessage, type PeerTask } from '../peer.ts';
import { asPeerError, unknownFailure } from '../peer-fetch.ts';

/** The longest time of a request that asks nothing of the agent's program, in milliseconds. */
const requestMs = 30_000;
/** The most pages of a list in which a message is looked for, and the tasks and messages of one. */
const maxPages = 4;
const pageSize = 50;
const maxHistory = 100;
const reasonLength = 300;
const idLength = 64;

const bindings = ['JSONRPC', 'HTTP+JSON'];
const legacyCompat = { enabled: true };

/** The address of an agent's card, the origins that may be asked, and a `fetch` that keeps to them. */
export interface PeerAddress {
  card: URL;
  origins: readonly string[];
  fetch: typeof fetch;
}

/** Reads the card of an agent, and speaks with the first interface of it that may be asked. Rejects with a {@link PeerError}. */
export async function connectPeer(address: PeerAddress): Promise<Peer> {
  const { card: url, origins } = address;
  const { host } = url;
  return await failing(host, new AbortController().signal, async (limit) => {
    const fetchImpl: typeof fetch = (input, init) =>
      address.fetch(input, { ...init, signal: init?.signal ?? limit });
    const cardResolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat });
    const card = await cardResolver.resolve(url.href, '');
    const usable = usableInterface(card?.supportedInterfaces, { host, origins });
    const factory = new ClientFactory({
      transports: [
        new JsonRpcTransportFactory({ fetchImpl: address.fetch, legacyCompat }),
        new RestTransportFactory({ fetchImpl: address.fetch, legacyCompat }),
      ],
      cardResolver,
    });
    const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: [usable] });
    return new SdkPeer(client, host, card.capabilities?.streaming === true);
  });
}

/** Chooses the interface to speak with. A card may name any address: only those that the operator named are asked. */
function usableInterface(
  listed: unknown,
  { host, origins }: { host: string; origins: readonly string[] },
): AgentInterface {
  const interfaces = (Array.isArray(listed) ? listed : []) as Partial<AgentInterface>[];
  const known = interfaces.flatMap((one) => {
    const url = URL.parse(String(one?.url ?? ''));
    const protocolVersion = spokenVersion(String(one?.protocolVersion));
    const isSpoken =
      bindings.includes(String(one?.protocolBinding).toUpperCase()) && protocolVersion !== undefined;
    return url && isSpoken
      ? [{ one: { ...(one as AgentInterface), protocolVersion }, origin: url.origin }]
      : [];
  });
  const allowed = known.find(({ origin }) => origins.includes(origin));
  if (allowed) return allowed.one;
  const [other] = known;
  if (!other)
    throw new PeerError(
      'forbidden',
      `the card of ${host} names no interface of A2A 1.0 or 0.3 with JSON-RPC or REST`,
    );
  const place = plainLine(other.origin, reasonLength);
  throw new PeerError(
    'forbidden',
    `the card of ${host} names an interface at ${place}: allow it with --a2a-allow ${place}, if it is meant`,
  );
}

/**
 * Returns the version in which an interface is spoken with, without the number of a patch; `undefined` if there is none. Cards of agents
 * that speak 0.3 name 0.2, too: requests and answers are the same.
 */
function spokenVersion(told: string): string | undefined {
  const version = /^(1\.\d+|0\.[23])(\.\d+)?$/.exec(told)?.[1];
  return version === '0.2' ? '0.3' : version;
}

class SdkPeer implements Peer {
  readonly #client: Client;
  readonly #host: string;
  readonly #streams: boolean;

  constructor(client: Client, host: string, streams: boolean) {
    this.#client = client;
    this.#host = host;
    this.#streams = streams;
  }

  async send({ messageId, contextId, taskId = '', body }: PeerMessage, signal: AbortSignal) {
    const message: Message = {
      ...{ messageId, contextId, taskId, role: Role.ROLE_USER, parts: [partOf(body)] },
      ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
    };
    const configuration = {
      ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined, historyLength: 0 },
      returnImmediately: true,
    };
    const request = { tenant: '', message, configuration, metadata: undefined };
    try {
      const sent = await this.#client.sendMessage(request, { signal });
      return 'messageId' in sent ? { answer: await textOf(sent.parts) } : await taskOf(sent, this.#host);
    } catch (thrown) {
      if (
        taskId !== '' &&
        (thrown instanceof TaskNotFoundError || thrown instanceof UnsupportedOperationError)
      )
        throw new PeerError('gone', `${this.#host} goes on with no such task: ${words(thrown)}`, {
          cause: thrown,
        });
      throw failureOf(thrown, this.#host, signal);
    }
  }

  async get(id: string, signal: AbortSignal) {
    return await failing(this.#host, signal, async (limit) => {
      try {
        const found = await this.#client.getTask({ id, tenant: '', historyLength: 0 }, { signal: limit });
        if (found.id === id) return await taskOf(found, this.#host);
        // It may be the answer to somebody else.
        const [asked, told] = [plainLine(id, idLength), plainLine(String(found.id), idLength)];
        throw new PeerError(
          'final',
          `${this.#host} was asked for the task '${asked}', and answered with '${told}'`,
        );
      } catch (thrown) {
        if (thrown instanceof TaskNotFoundError) return undefined;
        throw thrown;
      }
    });
  }

  async find({ contextId, messageId }: { contextId: string; messageId: string }, signal: AbortSignal) {
    return await failing(this.#host, signal, async (limit) => {
      let pageToken = '';
      for (let page = 0; page < maxPages; page++) {
        const query = {
          ...{ tenant: '', contextId, status: 0, pageSize, pageToken, historyLength: maxHistory },
          ...{ statusTimestampAfter: undefined, includeArtifacts: false },
        };
        const found = await this.#client.listTasks(query, { signal: limit }).catch((thrown) => {
          // An agent that speaks an older version, or lists nothing, says so in words of its own.
          if (thrown instanceof A2AError) return undefined;
          throw thrown;
        });
        const task = found?.tasks.find(({ history }) => history.some((one) => one.messageId === messageId));
        if (task) return await this.get(task.id, signal);
        pageToken = found?.nextPageToken ?? '';
        if (pageToken === '') break;
      }
      return undefined;
    });
  }

  async cancel(id: string, signal: AbortSignal) {
    return await failing(this.#host, signal, async (limit) => {
      try {
        const task = await this.#client.cancelTask(
          { id, tenant: '', metadata: undefined },
          { signal: limit },
        );
        return stateOf(task.status?.state) === 'canceled';
      } catch (thrown) {
        if (thrown instanceof TaskNotCancelableError || thrown instanceof TaskNotFoundError) return false;
        throw thrown;
      }
    });
  }

  async follow(id: string, onText: (text: string) => void, signal: AbortSignal) {
    if (!this.#streams) return false;
    try {
      for await (const { payload } of this.#client.resubscribeTask({ id, tenant: '' }, { signal })) {
        if (payload?.$case !== 'task' && payload?.$case !== 'statusUpdate') continue;
        const { status } = payload.value;
        if (stateOf(status?.state) !== 'works') return true;
        const text = status?.message && (await textOf(status.message.parts));
        if (text) onText(text);
      }
    } catch (thrown) {
      // The task is asked for by itself: a stream only tells earlier when. That of a task that has ended is refused.
      return thrown instanceof UnsupportedOperationError;
    }
    return false;
  }
}

const states: Readonly<Record<number, PeerTask['state']>> = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'asks',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'asks',
};

function stateOf(state: TaskState | undefined): PeerTask['state'] {
  return states[state ?? 0] ?? 'works';
}

async function taskOf({ id, contextId, status, artifacts }: Task, host: string): Promise<PeerTask> {
  if (Math.max(id.length, contextId.length) > maxIdLength)
    throw new PeerError(
      'final',
      `${host} gives its task or context an id of more than ${figure(maxIdLength)} characters`,
    );
  const state = stateOf(status?.state);
  const said = status?.message?.parts ?? [];
  const lists = state === 'completed' && artifacts.length > 0 ? artifacts.map((one) => one.parts) : [said];
  const marks = [status?.timestamp ?? '', status?.message?.messageId ?? ''];
  const mark = marks.join('') === '' ? '' : hashOf(...marks);
  return { id, contextId, state, text: await textOf(...lists), mark };
}

/** Returns the text of lists of parts, and the end of one that is too long. Files that a part names are not fetched. */
async function textOf(...lists: (readonly Part[])[]): Promise<string> {
  const text = lists.map(joined).join('\n');
  if (Buffer.byteLength(text) <= keptEndBytes) return text;
  const stream = new TurnStream();
  await stream.write(Buffer.from(text));
  return textWithCut(stream.text());
}

const touches = /^$|^\s|\s$/;

/**
 * Joins the parts of a message or an artifact. Each stands on a line of its own, unless they are the pieces of one text: an agent that
 * streams adds a part for each piece, and some of those begin or end with a space.
 */
function joined(parts: readonly Part[]): string {
  const texts = parts.map(({ content }) => (content?.$case === 'text' ? content.value : undefined));
  const isInPieces = texts.some((text) => text !== undefined && texts.length > 1 && touches.test(text));
  let whole = '';
  for (const [at, text] of texts.entries()) {
    const isPiece = isInPieces && text !== undefined && texts[at - 1] !== undefined;
    whole += `${at === 0 || isPiece ? '' : '\n'}${text ?? JSON.stringify(Part.toJSON(parts[at]!))}`;
  }
  return whole;
}

function partOf(body: unknown): Part {
  const rest = { metadata: undefined, filename: '' };
  return typeof body === 'string'
    ? { content: { $case: 'text', value: body }, mediaType: 'text/plain', ...rest }
    : { content: { $case: 'data', value: body ?? null }, mediaType: 'application/json', ...rest };
}

/** Makes a request within its time, and translates its failure. */
async function failing<T>(
  host: string,
  signal: AbortSignal,
  act: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(requestMs);
  const limit = AbortSignal.any([signal, late]);
  try {
    return await act(limit);
  } catch (thrown) {
    if (late.aborted && !signal.aborted)
      throw new PeerError('lost', `${host} did not answer within ${requestMs / 1000} s`, { cause: thrown });
    throw failureOf(thrown, host, signal);
  }
}

function failureOf(thrown: unknown, host: string, signal: AbortSignal): unknown {
  const known = asPeerError(thrown, host, signal);
  if (known !== undefined) return known;
  if (!(thrown instanceof A2AError)) return unknownFailure(thrown, host);
  // An error without a name of A2A is an internal one; the others say that the request is wrong.
  const kind = /A2AError|TransportError|InvalidAgentResponse/.test(thrown.name) ? 'failed' : 'final';
  return new PeerError(kind, `${host} answered: ${words(thrown)}`, { cause: thrown });
}

function words(thrown: Error): string {
  return plainLine(thrown.message, reasonLength);
}
