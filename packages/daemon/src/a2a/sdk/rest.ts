import {
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
} from '@a2a-js/sdk';
import { PushNotificationNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors';
import type { ServerCallContext } from '@a2a-js/sdk/server';
import type { OutsideRequestHandler } from './request-handler.ts';
import type { RestRoute } from './routes.ts';

/** A request of a REST binding, and who answers it. */
export interface RestCall {
  body: unknown;
  query: URLSearchParams;
  handler: OutsideRequestHandler;
  context: ServerCallContext;
}

type Events = AsyncGenerator<StreamResponse, void, undefined>;

/** The shapes of one version of the REST binding. */
export interface RestCodec {
  /** Answers a request with JSON, or with a stream of events. */
  call(route: RestRoute, call: RestCall): Promise<{ json: unknown } | { events: Events }>;
  /** Writes an event. */
  event(event: StreamResponse): unknown;
}

/** The shapes in which a version writes messages and tasks. */
export interface RestShapes {
  readSend(body: unknown): SendMessageRequest;
  writeTask(task: Task): unknown;
  /** Writes the answer to a message. */
  writeSent(task: Task): unknown;
  writeEvent(event: StreamResponse): unknown;
}

/** The REST binding of version 1.0. */
export const currentRest = restCodec({
  readSend: (body) => SendMessageRequest.fromJSON(body),
  writeTask: (task) => Task.toJSON(task),
  writeSent: (value) => SendMessageResponse.toJSON({ payload: { $case: 'task', value } }),
  writeEvent: (event) => StreamResponse.toJSON(event),
});

/** Makes the REST binding of a version of its shapes. */
export function restCodec({ readSend, writeTask, writeSent, writeEvent }: RestShapes): RestCodec {
  return {
    event: writeEvent,
    async call({ operation, tenant, id }, { body, query, handler, context }) {
      const task = { id, tenant };
      switch (operation) {
        case 'send':
          return { json: writeSent(await handler.sendMessage({ ...readSend(body), tenant }, context)) };
        case 'stream':
          return { events: handler.sendMessageStream({ ...readSend(body), tenant }, context) };
        case 'get': {
          const historyLength = numberOf(query, 'historyLength');
          return { json: writeTask(await handler.getTask({ ...task, historyLength }, context)) };
        }
        case 'list': {
          const params = ListTasksRequest.fromJSON({
            ...Object.fromEntries(query),
            tenant,
            pageSize: numberOf(query, 'pageSize'),
            historyLength: numberOf(query, 'historyLength'),
            includeArtifacts: query.get('includeArtifacts') === 'true',
          });
          const page = await handler.listTasks(params, context);
          const empty = { tasks: [], nextPageToken: '', totalSize: 0 };
          return { json: { ...empty, ...(ListTasksResponse.toJSON(page) as object) } };
        }
        case 'cancel':
          return { json: writeTask(await handler.cancelTask({ ...task, metadata: {} }, context)) };
        case 'subscribe':
          return { events: handler.resubscribe(task, context) };
        case 'card':
          return { json: await handler.getAuthenticatedExtendedAgentCard() };
        case 'push':
          throw new PushNotificationNotSupportedError();
      }
    },
  };
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RequestMalformedError(`${name} must be a number`);
}
