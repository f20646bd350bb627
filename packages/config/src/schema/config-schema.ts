import { kindSchema, mailboxToolNames, roleSchema, suggestion } from '@signalbox/protocol';
import { z } from 'zod';
import { parseListenAddress } from '../listen-address.ts';
import { mcpServerSchema, serverNameSchema } from './server-schema.ts';
import { budgetSchema, limit, milliseconds, nonEmpty, paths, toolPatterns } from './value-schemas.ts';

const agentIdSchema = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,127}$/, {
  error: 'must be lower-case letters, digits and _.- (at most 128), beginning with a letter or a digit',
});

const brokerSchema = z.strictObject({
  listen: z
    .string()
    .refine((text) => parseListenAddress(text) !== undefined, {
      error: 'must be HOST:PORT, as in 127.0.0.1:7420',
    })
    .optional()
    .describe('HOST:PORT; default 127.0.0.1:7420, port 0 takes any free one'),
  data: nonEmpty
    .optional()
    .describe('data directory, relative to this file; default $XDG_STATE_HOME/signalbox'),
  durability: z
    .enum(['full', 'process'])
    .optional()
    .describe('full: on disk before the receipt; process: survives a crash of the broker, not a power cut'),
});

const orchestratorSchema = z.strictObject({
  id: agentIdSchema.optional(),
  concurrency: z
    .strictObject({
      global: limit.optional(),
      perServer: limit.optional(),
      perWorker: limit.optional(),
      waitingPerWorker: limit.optional(),
    })
    .optional(),
  callTimeoutMs: milliseconds.optional(),
  maxProcesses: limit
    .optional()
    .describe('server processes at once, all instances of all servers; default 64'),
  budgets: z
    .strictObject({ perWorker: budgetSchema.optional() })
    .optional()
    .describe("calls that each worker may make in a time; a role's own budget replaces it"),
  safeToRepeat: toolPatterns
    .optional()
    .describe('tools, or patterns with *, that may be called again after a call whose outcome is not known'),
  neverRepeat: toolPatterns
    .optional()
    .describe('tools, or patterns with *, that may not, whatever their server declares'),
});

const mailboxSchema = z
  .union([z.literal(false), z.array(z.string())], { error: 'must be false, or a list of mailbox tools' })
  .superRefine((names, context) => {
    for (const [at, name] of (names || []).entries()) {
      if (mailboxToolNames.some((known) => known === name)) continue;
      const message = `must be one of: ${mailboxToolNames.join(', ')}${suggestion(name, mailboxToolNames)}`;
      context.addIssue({ code: 'custom', path: [at], message });
    }
  });

const roleEntrySchema = z.strictObject({
  tools: toolPatterns.describe('tool names, or patterns with *'),
  budget: budgetSchema.optional().describe('calls that each worker of the role may make in a time'),
  mailbox: mailboxSchema
    .optional()
    .describe('mailbox tools that the role sees: false, or a list; default all'),
  sharedBudget: budgetSchema.optional().describe('calls that all workers of the role together may make'),
  send: z
    .strictObject({
      to: z.array(nonEmpty).describe('agent ids, or patterns with *'),
      kinds: z.array(kindSchema),
    })
    .optional(),
});

const hostPattern = z
  .string()
  .regex(/^((\[[0-9A-Fa-f:.*]+\]|[\p{L}\p{N}._*-]+)(:\d{1,5})?|[0-9A-Fa-f:.*]+)$/u, {
    error: "must be a host or host:port, as in 10.0.0.7 or '*.internal:8080', without scheme and path",
  });

/** `signalbox.yaml` as it is written. Unknown keys are errors at every level. */
export const configSchema = z.strictObject({
  broker: brokerSchema.optional(),
  orchestrator: orchestratorSchema.optional(),
  mcpConfig: paths
    .optional()
    .describe('mcp.json of other clients, relative to this file; an entry under mcpServers replaces theirs'),
  mcpServers: z.record(serverNameSchema, mcpServerSchema).optional(),
  capabilities: paths.optional().describe('capability files, or folders of them, relative to this file'),
  allowHosts: z
    .array(hostPattern)
    .optional()
    .describe('hosts in private networks that capability files and sign-ins may reach nevertheless'),
  roles: z.record(roleSchema, roleEntrySchema).optional(),
  unlisted: z
    .enum(['allow', 'deny'])
    .optional()
    .describe('what roles without an entry may use; default deny as soon as any role is listed'),
});

export type ConfigDocument = z.infer<typeof configSchema>;
