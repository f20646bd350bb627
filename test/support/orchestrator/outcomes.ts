import { connectBroker } from '@signalbox/client';
import { callStatusSchema } from '@signalbox/protocol';
import type { ToolStack } from './tool-stack.ts';

export async function ask(stack: ToolStack, agent: string, body: unknown, role?: string): Promise<unknown> {
  const client = await stack.client(agent, role);
  const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  await client.close();
  return outcome.status === 'completed' ? outcome.reply.json : outcome;
}

export async function statusOf(stack: ToolStack, agent: string, requestId: string) {
  const reply = await ask(stack, agent, { op: 'status', request_id: requestId });
  return callStatusSchema.parse((reply as { data: unknown }).data);
}

/** Messages in the orchestrator's inbox. */
export async function waiting({ broker }: ToolStack): Promise<number> {
  const token = await broker.operatorToken();
  await using operator = await connectBroker({ url: broker.url, token, agent: 'operator#peeks' });
  return (await operator.peek({ address: 'orchestrator' })).length;
}
