import { InMemoryTransport } from '@modelcontextprotocol/server';
import { tasksExtension } from '@signalbox/protocol';
import { type McpFaceOptions, type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';
import { expect } from 'vitest';
import { rawRequest, validHeaders } from './http-face.ts';
import type { ShimUnderTest } from './shim.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
type Json = Record<string, any>;
type Transport = ShimUnderTest['transport'];

const version = '2026-07-28';

/** The capabilities of a client that knows tasks, and can be asked. */
export const knowsTasks = { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } };

/** A client of the current revision that is written without the SDK, whose client knows no tasks. */
export interface TaskClient {
  /** Sends a request, and returns its whole answer. */
  ask(method: string, params?: Json, capabilities?: Json): Promise<{ result?: Json; error?: Json }>;
  /** Calls a tool, which becomes a task, and returns that. */
  begin(name: string, args?: Json): Promise<Json>;
  get(taskId: string): Promise<Json>;
  /** Resolves with the task when it has that status. */
  becomes(taskId: string, status: string): Promise<Json>;
}

/** A client that sends each message through `exchange`. */
function taskClient(exchange: (message: Json) => Promise<Json>): TaskClient {
  let ids = 0;
  const ask: TaskClient['ask'] = (method, params = {}, capabilities = knowsTasks) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    return exchange({ jsonrpc: '2.0', id: ++ids, method, params: { ...params, _meta } });
  };
  const resultOf = async (answer: ReturnType<TaskClient['ask']>): Promise<Json> => {
    const { result, error } = await answer;
    if (!result) throw new Error(JSON.stringify(error));
    return result;
  };
  const client: TaskClient = {
    ask,
    async begin(name, args = {}) {
      const task = await resultOf(ask('tools/call', { name, arguments: args }));
      expect(task).toMatchObject({ resultType: 'task', status: 'working', taskId: expect.any(String) });
      return task;
    },
    get: (taskId) => resultOf(ask('tasks/get', { taskId })),
    async becomes(taskId, status) {
      await expect.poll(async () => (await client.get(taskId)).status).toBe(status);
      return await client.get(taskId);
    },
  };
  return client;
}

/** A client over standard input and output, as a transport. */
export async function taskClientOver(transport: Transport): Promise<TaskClient> {
  const waiting = new Map<unknown, (answer: Json) => void>();
  transport.onmessage = (message: Json) => {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  };
  await transport.start();
  return taskClient((message) => {
    const answered = new Promise<Json>((resolve) => waiting.set(message.id, resolve));
    void transport.send(message as never);
    return answered;
  });
}

/** Serves the face of an executor in this process. */
export async function faceWithTasks(
  executor: McpProxyExecutor,
  options: Partial<McpFaceOptions> = {},
): Promise<TaskClient & AsyncDisposable> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const face = serveMcpFace(executor, { version: '1.2.3', transport: ours, mailbox: false, ...options });
  return { ...(await taskClientOver(theirs)), [Symbol.asyncDispose]: () => face.close() };
}

/** A client over HTTP. */
export function httpTaskClient(port: number, token: string): TaskClient {
  return taskClient(async (message) => {
    const { method, params } = message;
    const named = params.taskId ?? params.name;
    const headers = validHeaders(token, {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(named !== undefined && { 'mcp-name': named }),
    });
    const { text } = await rawRequest(port, { headers, body: JSON.stringify(message) });
    return JSON.parse(text);
  });
}
