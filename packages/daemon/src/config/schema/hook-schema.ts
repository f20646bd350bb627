import { configuredSenderName, isSubInbox, kindSchema, recipientSchema } from '@signalbox/protocol';
import { hookSecret, hookSignatures } from '@signalbox/protocol/internal';
import { z } from 'zod';
import { nonEmpty } from './value-schemas.ts';

/** Kinds with which agents, orchestrators and the broker answer each other or ask for tool calls. */
const innerKinds = new Set(['reply', 'mcp_request', 'mcp_reply', 'progress', 'undeliverable']);

/** Accepts the name of a webhook or a schedule. */
export const configuredSenderNameSchema = z.string().regex(configuredSenderName, {
  error: 'must be [a-z0-9][a-z0-9-]*, at most 32 characters',
});

/** The recipient and the kind of the messages of a webhook or a schedule. `usual` names the usual kinds. */
export const sentMessages = (usual: string) => ({
  to: recipientSchema
    .refine((to) => !isSubInbox(to), { error: 'must be an agent or a group, and no sub-inbox' })
    .describe('agent or group that gets the messages, as in rosa or role:triage; must be there'),
  kind: kindSchema
    .refine((kind) => !innerKinds.has(kind), {
      error: ({ input }) =>
        `must not be '${String(input)}': agents use it among themselves; ${usual} are usual`,
    })
    .optional()
    .describe('kind of the messages; default task'),
});

/** A webhook as an entry of `hooks` is written. No problem with its secret holds the secret. */
export const hookEntrySchema = z
  .strictObject({
    ...sentMessages('task, ask and note'),
    secret: nonEmpty.describe(
      'secret that the sender shares, of at least 16 bytes, best as a reference to a variable or a file; for standard it begins with whsec_; must be there',
    ),
    signature: z
      .enum(hookSignatures)
      .describe(
        'how the sender proves itself: github (X-Hub-Signature-256), standard (Standard Webhooks) or bearer (Authorization: Bearer); must be there',
      ),
  })
  .superRefine(({ secret, signature }, context) => {
    const judged = hookSecret(signature, secret);
    if ('problem' in judged) context.addIssue({ code: 'custom', path: ['secret'], message: judged.problem });
  });
