import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server';
import { isJsonObject, tasksExtension } from '@signalbox/protocol';
import type { FaceTasks } from '../tasks/hosted-tasks.ts';
import { JsonRpcError } from '../tools/json-rpc-error.ts';

const methods = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;

/** Accepts every parameter: `FaceTasks` checks them. */
const anyParams = {
  '~standard': { version: 1, vendor: 'signalbox', validate: (value: unknown) => ({ value }) },
} as StandardSchemaV1<unknown, Record<string, unknown>>;

/** The capability by which clients and servers declare that they know tasks. */
export const tasksCapability = { extensions: { [tasksExtension]: {} } };

/** Returns true if a method belongs to tasks. */
export function isTaskMethod(method: string): boolean {
  return (methods as readonly string[]).includes(method);
}

/** Returns true if a client's capabilities say that it takes tasks. */
export function declaresTasks(capabilities: unknown): boolean {
  const extensions = isJsonObject(capabilities) ? capabilities.extensions : undefined;
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

/**
 * Makes a server of the current revision answer the requests of clients for their tasks (SEP-2663). The SDK has no runtime for tasks, and
 * passes their methods only to handlers that bring their own schemas. Checked with SDK 2.4.0; replace this when it has one.
 */
export function answerTaskRequests(server: Server, tasks: FaceTasks): void {
  const answer = async (
    method: (typeof methods)[number],
    { taskId, inputResponses }: Record<string, unknown>,
    { mcpReq }: ServerContext,
  ): Promise<Record<string, unknown>> => {
    const { signal, envelope } = mcpReq;
    if (!declaresTasks(capabilitiesOf(envelope))) throw undeclared();
    if (method === 'tasks/update')
      await tasks.update(taskId, mcpReq.inputResponses ?? inputResponses, signal);
    if (method === 'tasks/cancel') await tasks.cancel(taskId, signal);
    if (method !== 'tasks/get') return {};
    const { task, result } = await tasks.get(taskId, signal);
    if (!result) return task;
    return {
      ...task,
      result: server.projectCallToolResult(result.result as CallToolResult, result.outputSchema),
    };
  };
  for (const method of methods)
    server.setRequestHandler(method, { params: anyParams }, (params, context) =>
      answer(method, params, context),
    );
}

/** Returns true if a request asks for notifications about tasks although its client does not say that it knows them. */
export function listensUndeclared(message: unknown): boolean {
  if (!isJsonObject(message) || message.method !== 'subscriptions/listen' || !isJsonObject(message.params))
    return false;
  const { notifications, _meta: meta } = message.params;
  const wantsTasks = isJsonObject(notifications) && Array.isArray(notifications.taskIds);
  return wantsTasks && isJsonObject(meta) && !declaresTasks(meta[CLIENT_CAPABILITIES_META_KEY]);
}

function capabilitiesOf(envelope: unknown): unknown {
  return isJsonObject(envelope) ? envelope[CLIENT_CAPABILITIES_META_KEY] : undefined;
}

/** Makes the error for a client that asks for tasks and does not say that it knows them. */
export function undeclared(): JsonRpcError {
  return new JsonRpcError(
    ProtocolErrorCode.MissingRequiredClientCapability,
    `missing required client capability: declare the extension ${tasksExtension} in the capabilities of the request`,
    { requiredCapabilities: tasksCapability },
  );
}
