import { isAgentId } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationResult, Params } from './operation.ts';
import { type Field, readParams } from './params.ts';

const flag: Field<boolean> = {
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};
const agentId: Field<string> = {
  expected: 'an agent id',
  read: (value) => (typeof value === 'string' && isAgentId(value) ? value : undefined),
};

/** Runs `tail`: starts or stops telling the caller what happens to the messages of one agent, or of all. */
export async function tail(
  params: Params,
  { followers }: Pick<FrameDeps, 'followers'>,
  { consumer, sender }: Caller,
): OperationResult {
  const read = readParams(params, { on: flag }, { agent: agentId });
  if ('refusal' in read) return read;
  const { on, agent } = read.values;
  if (on) followers.add(consumer, sender.address, agent);
  else followers.remove(consumer);
  return { result: { on, ...(on && agent !== undefined && { agent }) } };
}
