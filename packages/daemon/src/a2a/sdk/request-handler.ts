import { hash } from 'node:crypto';
import {
  type AgentCard,
  type CancelTaskRequest,
  type GetTaskRequest,
  type ListTasksRequest,
  type ListTasksResponse,
  Message,
  Role,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
} from '@a2a-js/sdk';
import {
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { BrokerClient } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { isFinalState, type OutsideScope, type OutsideTask } from '@signalbox/store/outside-tasks';
import type { OutsideAsks } from '../outside-asks.ts';
import { artifactsOf, ownState, statusView, taskView } from './task-view.ts';

/** The caller and the agent of one HTTP request. */
export interface RequestScope {
  asks: OutsideAsks;
  client: BrokerClient;
  /** The name under which the agent is listed. */
  agent: string;
  card: AgentCard;
  /** Aborted when the client has hung up, or no more requests are served. */
  signal: AbortSignal;
  /** The longest wait of a blocking call, in milliseconds. */
  blockMs: number;
}

const maxNameLength = 256;
const defaultPageSize = 50;
const maxPageSize = 100;

/** Answers the requests of the protocol for one HTTP request. Its tasks are asks of our broker. */
export class OutsideRequestHandler implements A2ARequestHandler {
  readonly #request: RequestScope;

  constructor(request: RequestScope) {
    this.#request = request;
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#request.card;
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new ExtendedAgentCardNotConfiguredError();
  }

  async sendMessage(params: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    const { asks, signal, blockMs } = this.#request;
    const { returnImmediately, historyLength } = params.configuration ?? {};
    const task = await this.#send(params, context);
    const timeUp = AbortSignal.any([signal, AbortSignal.timeout(blockMs)]);
    return taskView(returnImmediately ? task : await asks.ended(task, timeUp), { historyLength });
  }

  async *sendMessageStream(
    params: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    yield* this.#follow(await this.#send(params, context));
  }

  async getTask(params: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    const { historyLength } = params;
    return taskView(this.#find(params, context), { historyLength });
  }

  async cancelTask(params: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    const task = this.#find(params, context);
    if (isFinalState(task.state)) throw new TaskNotCancelableError(`the task has ended: it is ${task.state}`);
    const { asks, client } = this.#request;
    const ended = await asks.cancel(client, task);
    if (ended.state === 'canceled') return taskView(ended);
    throw new TaskNotCancelableError(`the task had ended before: it is ${ended.state}`);
  }

  async *resubscribe(
    params: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const task = this.#find(params, context);
    if (isFinalState(task.state))
      throw new UnsupportedOperationError(`the task has ended: it is ${task.state}`);
    yield* this.#follow(task);
  }

  async listTasks(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const { contextId, status, pageToken, historyLength, statusTimestampAfter, includeArtifacts } = params;
    const pageSize = params.pageSize ?? defaultPageSize;
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > maxPageSize)
      throw new RequestMalformedError(`pageSize must be between 1 and ${maxPageSize}`);
    const state = status ? ownState(status) : undefined;
    const since = statusTimestampAfter ? Date.parse(statusTimestampAfter) : undefined;
    if (since !== undefined && Number.isNaN(since))
      throw new RequestMalformedError('statusTimestampAfter must be a time of ISO 8601');
    const scope = this.#scope(params.tenant, context);
    const isNone = status && state === undefined;
    const after = pageToken ? placeOf(pageToken) : undefined;
    const query = { ...scope, context: contextId || undefined, state, since, after, limit: pageSize };
    const { tasks, total, isMore } = isNone
      ? { tasks: [], total: 0, isMore: false }
      : this.#request.asks.list(query);
    const last = isMore ? tasks.at(-1) : undefined;
    return {
      tasks: tasks.map((task) => taskView(task, { historyLength, artifacts: includeArtifacts === true })),
      nextPageToken: last ? tokenOf(last) : '',
      pageSize,
      totalSize: total,
    };
  }

  async createTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async getTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async listTaskPushNotificationConfigs(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async deleteTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async #send(params: SendMessageRequest, context: ServerCallContext): Promise<OutsideTask> {
    const { asks, client } = this.#request;
    const { message, configuration, tenant } = params;
    if (configuration?.taskPushNotificationConfig) throw new PushNotificationNotSupportedError();
    if (!message) throw new RequestMalformedError('message is missing');
    const { messageId, contextId, taskId, parts, role, metadata } = message;
    requireName('message.messageId', messageId);
    if (messageId === '') throw new RequestMalformedError('message.messageId is missing');
    requireName('message.contextId', contextId);
    if (role === Role.ROLE_AGENT) throw new RequestMalformedError('message.role must be ROLE_USER');
    if (parts.length === 0 || parts.some(({ content }) => content === undefined))
      throw new RequestMalformedError(
        'message.parts must hold at least one part, each with text, raw, url or data',
      );
    const scope = this.#scope(tenant, context);
    if (taskId !== '') this.#refuseContinued(taskId, scope, messageId);
    const json = Message.toJSON({ ...message, contextId: '', taskId: '' }) as object;
    const text = JSON.stringify(json);
    try {
      return await asks.send(client, {
        ...scope,
        messageId,
        context: contextId === '' ? undefined : contextId,
        hash: hash('sha256', JSON.stringify([parts, metadata ?? null]), 'base64url'),
        message: text,
      });
    } catch (thrown) {
      const isWrong =
        thrown instanceof SignalboxError && ['invalid_message', 'message_too_large'].includes(thrown.code);
      throw isWrong ? new RequestMalformedError(thrown.message) : thrown;
    }
  }

  /** Each message is a task of its own here: a context is what continues. */
  #refuseContinued(taskId: string, scope: OutsideScope, messageId: string): void {
    const task = this.#request.asks.find(taskId, scope);
    if (!task) throw new TaskNotFoundError(`there is no task '${taskId}'`);
    throw new UnsupportedOperationError(
      `a task takes one message here: send '${messageId}' with contextId '${task.context}' and without taskId`,
    );
  }

  async *#follow(first: OutsideTask): AsyncGenerator<StreamResponse, void, undefined> {
    const { asks, signal } = this.#request;
    yield { payload: { $case: 'task', value: taskView(first) } };
    let task = first;
    while (!isFinalState(task.state) && !signal.aborted) {
      await asks.changed(task, signal);
      const newest = asks.find(task.id, task);
      if (!newest || signal.aborted) return;
      task = newest;
      const { id: taskId, context: contextId } = task;
      for (const artifact of artifactsOf(task)) {
        const value = { taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined };
        yield { payload: { $case: 'artifactUpdate', value } };
      }
      const value = { taskId, contextId, status: statusView(task), metadata: undefined };
      yield { payload: { $case: 'statusUpdate', value } };
    }
  }

  #find({ id, tenant }: { id: string; tenant: string }, context: ServerCallContext): OutsideTask {
    const task = this.#request.asks.find(id, this.#scope(tenant, context));
    if (!task) throw new TaskNotFoundError(`there is no task '${id.slice(0, maxNameLength)}'`);
    return task;
  }

  #scope(tenant: string, context: ServerCallContext): OutsideScope {
    const { client, agent } = this.#request;
    const named = tenant || (context.tenant ?? '');
    requireName('tenant', named);
    return { caller: client.agent, agent, tenant: named };
  }
}

function requireName(field: string, name: string): void {
  if (name.length > maxNameLength)
    throw new RequestMalformedError(`${field} has more than ${maxNameLength} characters`);
}

function tokenOf({ changedAt, id }: OutsideTask): string {
  return Buffer.from(`${changedAt}|${id}`).toString('base64url');
}

function placeOf(token: string): { changedAt: number; id: string } {
  const [time, id] = Buffer.from(token, 'base64url').toString('utf8').split('|');
  const changedAt = Number(time);
  if (id !== undefined && Number.isSafeInteger(changedAt)) return { changedAt, id };
  throw new RequestMalformedError('pageToken must be the nextPageToken of another page');
}
