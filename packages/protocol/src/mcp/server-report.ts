import { z } from 'zod';

/** How a hosted MCP server is doing, all its instances together. Times in milliseconds. Free of secrets. */
export const serverReportSchema = z.object({
  name: z.string(),
  /** Of the instance that fares best. */
  state: z.enum(['idle', 'starting', 'ready', 'backing_off', 'ejected', 'needs_auth', 'stopped', 'disabled']),
  transport: z.enum(['stdio', 'http']),
  share: z.enum(['all', 'role', 'worker']),
  lazy: z.boolean(),
  instances: z.number(),
  pids: z.array(z.number()),
  pid: z.number().optional(),
  uptime_ms: z.number().optional(),
  restarts: z.number(),
  tool_count: z.number(),
  in_flight: z.number(),
  /** Calls that wait in the orchestrator for a free place on it. */
  waiting: z.number(),
  consecutive_failures: z.number(),
  circuit: z.enum(['closed', 'open', 'half_open']),
  cache_entries: z.number(),
  cache_hits: z.number(),
  /** That reached the server. */
  calls: z.number(),
  p50_ms: z.number().optional(),
  p95_ms: z.number().optional(),
  auth: z.enum(['idle', 'connecting', 'ready', 'needs_auth', 'failed']).optional(),
  last_error: z.string().optional(),
  /** The end of what its processes wrote to their standard error. */
  stderr_tail: z.string(),
});
export type ServerReport = z.infer<typeof serverReportSchema>;

/** Answer to op `servers` (in `data`). */
export const serversReplySchema = z.object({ servers: z.array(serverReportSchema) });
export type ServersReply = z.infer<typeof serversReplySchema>;

/** Answer to ops `reload`, `stop` and `start` (in `data`): how the server is doing afterwards. */
export const serverReplySchema = z.object({ server: serverReportSchema });
export type ServerReply = z.infer<typeof serverReplySchema>;

/** Answer to op `discover` (in `data`). `name` is the tool's own, `as` the one by which it is called. */
export const discoveryReplySchema = z.object({
  servers: z.array(
    z.object({
      server: z.string(),
      tools: z.array(z.object({ name: z.string(), as: z.string(), description: z.string().optional() })),
      error: z.string().optional(),
    }),
  ),
});
export type DiscoveryReply = z.infer<typeof discoveryReplySchema>;
