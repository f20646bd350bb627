import { z } from 'zod';
import { addressPattern, agentPattern, groupPattern, recipientPattern } from './address.ts';
import { idPattern } from './message-id.ts';

/** Matches the kind of a message. */
export const kindPattern = /^[a-z][a-z_]{0,31}$/;
/** Matches the role of an agent. */
export const rolePattern = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** Message kinds with a meaning in the protocol. Agents may use any other text that matches {@link kindPattern} between themselves. */
export const wellKnownKinds = [
  'task',
  'ask',
  'reply',
  'note',
  'mcp_request',
  'mcp_reply',
  'event',
  'progress',
  'undeliverable',
] as const;

/** Accepts an address. */
export const addressSchema = z
  .string()
  .regex(addressPattern, {
    error: 'must be an agent id ([a-z0-9][a-z0-9_.-]*, at most 128 characters) or agent#sub',
  })
  .meta({ id: 'Address', title: 'address', description: 'An agent id, or `agent#sub` for a sub-inbox.' });

const groupForm = 'group:NAME or role:ROLE ([a-z0-9][a-z0-9_.-]*, at most 64 characters)';

/** Accepts the address of a group. */
export const groupSchema = z
  .string()
  .regex(groupPattern, { error: `must be ${groupForm}` })
  .meta({
    id: 'Group',
    title: 'group',
    description:
      '`role:ROLE` for the agents of a role, or `group:NAME` for those of the roles that the configuration names.',
  });

/** Accepts an address, or the address of a group. */
export const recipientSchema = z
  .string()
  .regex(recipientPattern, {
    error: `must be an agent id ([a-z0-9][a-z0-9_.-]*, at most 128 characters), agent#sub, ${groupForm}`,
  })
  .meta({ id: 'Recipient', title: 'recipient', description: 'An address, or a group.' });

/** Accepts an agent id. */
export const agentIdSchema = z
  .string({ error: 'must be an agent id' })
  .regex(agentPattern, {
    error: 'must be an agent id ([a-z0-9][a-z0-9_.-]*, at most 128 characters)',
  })
  .meta({ id: 'AgentId', title: 'agent id', description: 'The name of an agent, and of its inbox.' });

/** Accepts the id of a message, or a client’s id for a request of its own. */
export const idSchema = z
  .string()
  .regex(idPattern, { error: 'must be 1 to 64 printable ASCII characters without spaces' })
  .meta({
    id: 'Id',
    title: 'id',
    description: 'Printable ASCII without spaces, chosen by the sender. `re:` may stand before it.',
  });

/** Accepts the kind of a message. */
export const kindSchema = z
  .string()
  .regex(kindPattern, { error: 'must be lower-case letters and underscores, at most 32' })
  .meta({
    id: 'Kind',
    title: 'kind',
    description: `The kind of a message. Well-known kinds: ${wellKnownKinds.map((kind) => `\`${kind}\``).join(', ')}.`,
  });

/** Accepts the role of an agent. */
export const roleSchema = z
  .string()
  .regex(rolePattern, { error: 'must be [a-z0-9][a-z0-9_.-]*, at most 64 characters' })
  .meta({ id: 'Role', title: 'role', description: 'The role of an agent, which its token states.' });

const seqError = 'must be a sequence number, a whole number from 1';
/** Accepts the sequence number of a message. */
export const seqSchema = z.int({ error: seqError }).positive({ error: seqError }).meta({
  id: 'Seq',
  title: 'sequence number',
  description: 'Given by the broker, ordered within one inbox, otherwise opaque, and never used twice.',
});
