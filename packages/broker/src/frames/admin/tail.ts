import { isAgentId } from '@signalbox/protocol';
import type { Operation } from './operation.ts';
import { type Field, readParams } from './params.ts';

const flag: Field<boolean> = {
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};
const agentId: Field<string> = {
  expected: 'an agent id',
  read: (value) => (typeof value === 'string' && isAgentId(value) ? value : undefined),
};

/** `tail`: from now on, or no longer, this connection is told what happens to messages, of one agent or of all. */
export async function tail(...[session, context, params]: Parameters<Operation>): ReturnType<Operation> {
  const read = readParams(params, { on: flag }, { agent: agentId });
  if ('refusal' in read) return read;
  const { on, agent } = read.values;
  if (on) context.taps.add(session, agent);
  else context.taps.remove(session);
  return { result: { on, ...(on && agent !== undefined && { agent }) } };
}
