import { kindSchema, roleSchema } from '@signalbox/protocol';
import { z } from 'zod';
import { parseListenAddress } from '../listen-address.ts';

const agentIdSchema = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,127}$/, {
  error: 'must be lower-case letters, digits and _.- (at most 128), beginning with a letter or a digit',
});
const limit = z.int().min(1).max(100_000);
const milliseconds = z.int().min(1);
const nonEmpty = z
  .string()
  .min(1, { error: 'must not be empty' })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

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
  safeToRepeat: z
    .array(nonEmpty)
    .optional()
    .describe('tools, or patterns with *, that may be called again after a call whose outcome is not known'),
  neverRepeat: z
    .array(nonEmpty)
    .optional()
    .describe('tools, or patterns with *, that may not, whatever their server declares'),
});

const strings = z.record(z.string(), z.string());

const mcpServerSchema = z
  .strictObject({
    type: z.enum(['stdio', 'http']).optional(),
    transport_type: z.enum(['stdio', 'http']).optional(),
    command: nonEmpty.optional(),
    args: z.array(z.string()).optional(),
    env: strings.optional(),
    cwd: nonEmpty.optional(),
    url: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }).optional(),
    headers: strings.optional(),
    timeoutMs: milliseconds.optional(),
  })
  .check(({ value, issues }) => {
    for (const { at, message } of transportProblems(value)) {
      issues.push({ code: 'custom', input: value, path: at, message });
    }
  });

const serverNameSchema = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(64, { error: 'must have at most 64 characters' });

const roleEntrySchema = z.strictObject({
  tools: z.array(nonEmpty).describe('tool names, or patterns with *'),
  send: z
    .strictObject({
      to: z.array(nonEmpty).describe('agent ids, or patterns with *'),
      kinds: z.array(kindSchema),
    })
    .optional(),
});

/** `signalbox.yaml` as it is written. Unknown keys are errors at every level. */
export const configSchema = z.strictObject({
  broker: brokerSchema.optional(),
  orchestrator: orchestratorSchema.optional(),
  mcpServers: z.record(serverNameSchema, mcpServerSchema).optional(),
  roles: z.record(roleSchema, roleEntrySchema).optional(),
  unlisted: z
    .enum(['allow', 'deny'])
    .optional()
    .describe('what roles without an entry may use; default deny as soon as any role is listed'),
});

export type ConfigDocument = z.infer<typeof configSchema>;
export type McpServerEntry = z.infer<typeof mcpServerSchema>;

/** How an entry's server is reached; `url` alone means http, as other MCP clients read it. */
export function transportOf(entry: McpServerEntry): 'stdio' | 'http' {
  return entry.type ?? entry.transport_type ?? (entry.url === undefined ? 'stdio' : 'http');
}

const foreignKeys = {
  stdio: ['url', 'headers'],
  http: ['command', 'args', 'env', 'cwd'],
} as const;

function transportProblems(entry: McpServerEntry): { at: string[]; message: string }[] {
  if (entry.type && entry.transport_type && entry.type !== entry.transport_type) {
    return [{ at: ['transport_type'], message: `contradicts type '${entry.type}'; keep one of the two` }];
  }
  const transport = transportOf(entry);
  const needed = transport === 'stdio' ? 'command' : 'url';
  const problems: { at: string[]; message: string }[] = [];
  if (entry[needed] === undefined)
    problems.push({ at: [], message: `a ${transport} server needs '${needed}'` });
  for (const key of foreignKeys[transport]) {
    if (entry[key] !== undefined)
      problems.push({ at: [key], message: `does not belong to a ${transport} server` });
  }
  return problems;
}
