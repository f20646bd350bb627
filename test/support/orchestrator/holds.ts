import type { BrokerClient } from '@signalbox/client';
import { type CallStatus, explanationSchema } from '@signalbox/protocol';
import { expect } from 'vitest';
import { explained } from './explained-step.ts';
import { ask, askData } from './requests.ts';
import type { ToolStack } from './tool-stack.ts';

export const echo = 'mcp_counter__echo';

export const runs = (stack: ToolStack, tool = 'count') =>
  stack.ran(tool).filter(({ at }) => at === 'start').length;

export async function operatorOf(stack: ToolStack) {
  return await stack.client('operator', 'operator');
}

/** Resolves when the orchestrator has heard of what was done before: it then explains a tool as held or not. */
export async function heard(stack: ToolStack, role: string, isHeld: boolean): Promise<void> {
  const operator = await operatorOf(stack);
  const explain = () => askData(operator, { op: 'explain', role, tool: echo }, explanationSchema);
  const verdict = isHeld ? 'waits' : 'passes';
  await expect.poll(explain).toEqual(explained('hold', { verdict }));
}

export async function stateOf(client: BrokerClient, id: string): Promise<CallStatus> {
  const reply = await ask(client, { op: 'status', request_id: id });
  return ('data' in reply ? reply.data : reply) as CallStatus;
}

/** Resolves when a call of an agent has this state. It asks over one connection, since an agent has few places. */
export async function reaches(
  stack: Pick<ToolStack, 'client'>,
  agent: string,
  id: string,
  state: string,
): Promise<void> {
  const client = await stack.client(agent);
  await expect.poll(() => stateOf(client, id)).toMatchObject({ state });
}
