import { randomUUID } from 'node:crypto';
import {
  type AgentCard,
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  type Task,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';

/** A way to speak with an agent. */
export interface Way {
  binding: 'JSONRPC' | 'HTTP+JSON';
  version: '1.0' | '0.3';
}

export const ways: Way[] = [
  { binding: 'JSONRPC', version: '1.0' },
  { binding: 'HTTP+JSON', version: '1.0' },
  { binding: 'JSONRPC', version: '0.3' },
  { binding: 'HTTP+JSON', version: '0.3' },
];

/** Returns a client of the SDK for an agent. It reads the agent's card, and speaks in the given way. */
export async function a2aClient(url: string, token: string, way: Way = ways[0]!): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const legacyCompat = { enabled: true };
  const cardResolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat });
  const card = await cardResolver.resolve(`${url}/`);
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
        new RestTransportFactory({ fetchImpl, legacyCompat }),
      ],
      cardResolver,
    }),
  );
  const supportedInterfaces = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === way.binding && protocolVersion === way.version,
  );
  return await factory.createFromAgentCard({ ...card, supportedInterfaces } as AgentCard);
}

/** Makes a message of texts. */
export function message(
  text: string,
  { messageId = randomUUID() as string, contextId = '', taskId = '', parts = [] as Part[] } = {},
): Message {
  return {
    messageId,
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [textPart(text), ...parts],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

export function textPart(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
}

/** Makes a request that waits for the end of its task, or returns at once. */
export function sending(sent: Message, { returnImmediately = false } = {}): SendMessageRequest {
  return {
    tenant: '',
    message: sent,
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

/** Sends a message and returns its task. */
export async function send(
  client: Client,
  sent: Message,
  options: { returnImmediately?: boolean } = {},
): Promise<Task> {
  const answer = await client.sendMessage(sending(sent, options));
  if ('messageId' in answer) throw new Error('a message in place of a task');
  return answer;
}

/** Returns the text that a task answers with. */
export function answerOf(task: Task): string | undefined {
  const content = task.artifacts[0]?.parts[0]?.content;
  return content?.$case === 'text' ? content.value : undefined;
}

/** Returns a function that posts a message whose text is written in escapes only, the longest way of JSON, and returns the answer. */
export async function escapedPost(url: string, token: string): Promise<(text: string) => Promise<unknown>> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'a2a-version': '1.0',
  };
  return async (text) => {
    const escaped = [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const sent = `{"messageId":"${randomUUID()}","role":"ROLE_USER","parts":[{"text":"${escaped}"}]}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":${sent}}}`;
    return await (await fetch(url, { method: 'POST', headers, body })).json();
  };
}
