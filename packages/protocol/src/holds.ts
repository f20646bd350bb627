import { toolLabel } from './mcp/tool-label.ts';
import type { Hold } from './wire/admin/holds.ts';

/** Tells whether a hold is on an agent with this role. A hold on tools is on no agent. */
export function isOnAgent(
  { on, name }: Pick<Hold, 'on' | 'name'>,
  { agent, role }: { agent: string; role: string },
): boolean {
  if (on === 'all') return true;
  return (on === 'agent' && name === agent) || (on === 'role' && name === role);
}

/** Names the target of a hold for people: `agent 'rosa'`, `tools 'db:*'`, `everything`. */
export function holdSubject({ on, name = '' }: Pick<Hold, 'on' | 'name'>): string {
  if (on === 'all') return 'everything';
  return on === 'tool' ? `tools '${toolLabel({ tool: name })}'` : `${on} '${name}'`;
}

/** Describes a hold in a sentence: target, holder, start, end and reason. */
export function holdText(hold: Hold): string {
  const { id, by, reason, created_at, until, damaged } = hold;
  if (damaged)
    return `the record of hold ${id} is damaged, so that it counts as a hold on everything until it is released`;
  const end = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return `${by} holds ${holdSubject(hold)} since ${new Date(created_at).toISOString()}${end}: ${reason} (hold ${id})`;
}
