import type { BrokerClient } from '@signalbox/client';
import type { McpReply, ToolCallError } from '@signalbox/protocol';
import { expect } from 'vitest';

/** Asks the orchestrator and returns the body of its reply as it came. */
export async function ask(client: BrokerClient, body: object): Promise<McpReply> {
  const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 20_000 });
  if (outcome.status !== 'completed') throw new Error(`the request ended ${outcome.status}`);
  return outcome.reply.json as McpReply;
}

/** Calls a tool. Returns the error of its reply, or `undefined` for a result. */
export async function callError(
  client: BrokerClient,
  tool: string,
  args: object = {},
): Promise<ToolCallError | undefined> {
  const reply = await ask(client, { op: 'call', tool, arguments: args });
  return 'error' in reply ? reply.error : undefined;
}

/** Asks for something whose answer is in `data`. The answer must match its schema, without further fields. */
export async function askData<T>(
  client: BrokerClient,
  body: object,
  schema: { parse(value: unknown): T },
): Promise<T> {
  const reply = await ask(client, body);
  if (!('data' in reply)) throw new Error(`no data came: ${JSON.stringify(reply)}`);
  const data = schema.parse(reply.data);
  expect(data).toEqual(reply.data);
  return data;
}
