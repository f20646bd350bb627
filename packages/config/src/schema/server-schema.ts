import { z } from 'zod';
import { serverAuthSchema } from './auth-schema.ts';
import { transportOf } from './transport.ts';
import {
  httpUrl,
  limit,
  milliseconds,
  millisecondsOrZero,
  nonEmpty,
  strings,
  toolPatterns,
} from './value-schemas.ts';

/** `streamable-http` is what some clients write for http. */
const transport = z.enum(['stdio', 'http', 'streamable-http']);

/** What is ours and fits any transport; the defaults are those of the MCP host. */
const policyShape = {
  share: z
    .enum(['all', 'role', 'worker'])
    .optional()
    .describe('whom one process serves: everybody (default), the agents of a role, or one agent'),
  lazy: z.boolean().optional().describe('started by the first call instead of at once'),
  keepAliveMs: millisecondsOrZero
    .optional()
    .describe('how long a lazy or unshared one stays up unused; 0 for ever, default 5 minutes'),
  maxRestarts: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe('restarts within restartWindowMs after which it stays down until it is reloaded; default 5'),
  restartWindowMs: milliseconds.optional().describe('default 5 minutes'),
  circuitThreshold: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('transport failures in a row that open the circuit breaker; default 5'),
  circuitResetMs: milliseconds.optional().describe('how long the circuit then stays open; default 30 s'),
  concurrency: limit.optional().describe('calls that run on it at once'),
  timeoutMs: milliseconds.optional().describe('the longest that one call may take'),
  protocol: z
    .enum(['legacy', 'auto'])
    .optional()
    .describe('auto asks for the current revision first; default legacy for stdio, auto for http'),
  disabled: z.boolean().optional().describe('known by name, but not started'),
  tool_discovery: z
    .boolean()
    .optional()
    .describe('false: its tools can be called by their exact names, but are not listed'),
  prefix: z
    .boolean()
    .optional()
    .describe('false: its tools are offered under their own names, without mcp_SERVER__'),
  card: nonEmpty.optional().describe('path or URL of a server card: what it offers before it has started'),
  safeToRepeat: toolPatterns
    .optional()
    .describe("the server's own tool names, or patterns with *, that may be called again"),
  neverRepeat: toolPatterns
    .optional()
    .describe("the server's own tool names, or patterns with *, that may not, whatever it declares"),
};

/** One server as `mcpServers` holds it. Unknown keys are errors, and so are those of the other transport. */
export const mcpServerSchema = z
  .strictObject({
    type: transport.optional(),
    transport_type: transport.optional(),
    command: nonEmpty.optional(),
    args: z.array(z.string()).optional(),
    env: strings.optional(),
    cwd: nonEmpty.optional(),
    url: httpUrl.optional(),
    headers: strings.optional(),
    auth: serverAuthSchema.optional(),
    ...policyShape,
  })
  .check(({ value, issues }) => {
    for (const { at, message } of entryProblems(value)) {
      issues.push({ code: 'custom', input: value, path: at, message });
    }
  });

export type McpServerEntry = z.infer<typeof mcpServerSchema>;

export const serverNameSchema = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(64, { error: 'must have at most 64 characters' })
  .refine((name) => !/\p{Cc}/u.test(name), { error: 'must not contain control characters' });

const foreignKeys = {
  stdio: ['url', 'headers', 'auth'],
  http: ['command', 'args', 'env', 'cwd'],
} as const;

function entryProblems(entry: McpServerEntry): { at: string[]; message: string }[] {
  const { type, transport_type, headers = {}, auth } = entry;
  if (type && transport_type && isHttp(type) !== isHttp(transport_type)) {
    return [{ at: ['transport_type'], message: `contradicts type '${type}'; keep one of the two` }];
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
  const fixed = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
  if (auth && fixed !== undefined)
    problems.push({ at: ['headers', fixed], message: "contradicts 'auth'; keep one of the two" });
  return problems;
}

function isHttp(transport: string): boolean {
  return transport !== 'stdio';
}
