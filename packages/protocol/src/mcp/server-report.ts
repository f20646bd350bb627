import { z } from 'zod';

/** Accepts the failure of the last start of a hosted MCP server. */
const startFailureSchema = z.object({
  command: z.string().optional().describe('The command line of a stdio server, without secrets.'),
  origin: z.string().optional().describe('The scheme, host and port of a server behind HTTP.'),
  processes: z
    .array(z.object({ pid: z.number(), command: z.string() }))
    .describe('The processes that it had when its start was given up; at most twenty.'),
  advice: z.array(z.string()).describe('What probably caused it, and what to do.'),
});
/** The failure of the last start of a hosted MCP server. It holds no secrets. */
export type StartFailureReport = z.infer<typeof startFailureSchema>;

const hash = z.string().optional();

/** Accepts the last change of a tool's definition. */
const toolChangeSchema = z.object({
  tool: z.string(),
  at: z.number().describe('Epoch milliseconds.'),
  what: z.enum(['added', 'removed', 'changed']),
  fields: z.array(z.string()).optional().describe('The fields of the definition that differ.'),
  before: hash.describe('A hash of the definition before.'),
  after: hash.describe('A hash of the definition now, to which approvals are bound.'),
});
/** The last change of a tool's definition that an orchestrator saw. */
export type ToolChangeReport = z.infer<typeof toolChangeSchema>;

/** Accepts what a client does with tools whose schemas it does not show as they are meant. */
const unshownSchema = z.object({
  client: z.string().describe('The client, for example `claude`.'),
  how: z.enum(['left out', 'changed']).describe('Whether it leaves the tools out, or shows other schemas.'),
  why: z.string().describe('What about the schema the client does that for.'),
  tools: z.array(z.string()).describe('The names of the tools here; at most twenty, of more see `count`.'),
  count: z.int(),
});
/** The tools whose schemas a client does not show as they are meant. */
export type UnshownReport = z.infer<typeof unshownSchema>;

/** Accepts the state of a hosted MCP server. */
export const serverReportSchema = z.object({
  name: z.string(),
  state: z
    .enum([
      'idle',
      'queued',
      'starting',
      'ready',
      'backing_off',
      'away',
      'not_offered',
      'ejected',
      'refused',
      'needs_auth',
      'stopped',
      'disabled',
    ])
    .describe('The state of the instance that is in the best one.'),
  transport: z.enum(['stdio', 'http', 'remote']),
  host: z
    .string()
    .optional()
    .describe('The label of the orchestrator that hosts it. Absent for a server of this one.'),
  share: z.enum(['all', 'role', 'worker']),
  lazy: z.boolean(),
  instances: z.number(),
  pids: z.array(z.number()),
  pid: z.number().optional(),
  uptime_ms: z.number().optional(),
  starting_ms: z.number().optional().describe('How long the start takes already that is under way.'),
  memory_bytes: z
    .number()
    .optional()
    .describe('The memory of its processes and what they started. Absent where the system does not say.'),
  restarts: z.number(),
  tool_count: z.number(),
  tool_problems: z
    .array(
      z.object({
        tool: z.string().optional(),
        message: z.string(),
        withheld: z.literal(true).optional().describe('It is withheld until its definition is accepted.'),
        mended: z.literal(true).optional().describe('It is shown, in a form that clients accept.'),
      }),
    )
    .describe(
      'Tools that are left out, or not shown as the server describes them, and why; at most some twenty.',
    ),
  unshown: z
    .array(unshownSchema)
    .optional()
    .describe('Tools that agents see, and that certain clients do not show as they are meant.'),
  tool_changes: z
    .array(toolChangeSchema)
    .describe('Tools whose definition changed while this orchestrator ran, newest first; at most twenty.'),
  definitions: z
    .object({ pinned: z.number(), withheld: z.number() })
    .optional()
    .describe('Of a server with `definitions: pin`: how many definitions are shown as pinned, and withheld.'),
  in_flight: z.number(),
  waiting: z.number().describe('Calls that wait in the orchestrator until the server takes another call.'),
  consecutive_failures: z.number(),
  circuit: z.enum(['closed', 'open', 'half_open']),
  cache_entries: z.number(),
  cache_hits: z.number(),
  calls: z.number().describe('Calls that reached the server.'),
  questions: z
    .object({ asked: z.int(), refused: z.int(), last_refusal: z.string().optional() })
    .optional()
    .describe(
      'What it asked callers in the middle of calls, and what of that was refused. Absent if it never asked.',
    ),
  p50_ms: z.number().optional(),
  p95_ms: z.number().optional(),
  auth: z.enum(['idle', 'connecting', 'ready', 'needs_auth', 'failed']).optional(),
  last_error: z.string().optional(),
  start_failure: startFailureSchema
    .optional()
    .describe('How its last start failed, if it has not started since. Only operators are shown it.'),
  log_messages: z
    .array(z.string())
    .optional()
    .describe('The last log messages that it sent, at most five. Only operators are shown them.'),
  stderr_tail: z.string().describe('The last lines that its processes wrote to their standard error.'),
});
/** The state of a hosted MCP server, with all its instances together. Times are in milliseconds. It holds no secrets. */
export type ServerReport = z.infer<typeof serverReportSchema>;

/** Accepts the state of the orchestrators with one label. */
export const hostReportSchema = z.object({
  host: z.string().describe('The label.'),
  servers: z.array(z.string()).describe('The servers that it may offer.'),
  away_since: z.number().optional().describe('Since when none of them is there, in epoch milliseconds.'),
  never_seen: z.literal(true).optional().describe('None was there since this orchestrator started.'),
  refused: z
    .array(z.string())
    .optional()
    .describe('Servers that it offers and may not: `hosts` does not name them. At most a hundred.'),
});
/** The state of the orchestrators with one label. */
export type HostReport = z.infer<typeof hostReportSchema>;

/** Accepts the warnings about patterns of roles. */
export const patternWarningsSchema = () =>
  z
    .array(z.string())
    .optional()
    .describe(
      'The patterns of roles that match nothing, at most a hundred. Those that may mean something of a server that is not ready are left out.',
    );

/** Accepts the answer to op `servers`. */
export const serversReplySchema = z.object({
  servers: z.array(serverReportSchema),
  approvals: z
    .object({ waiting: z.int(), oldest_at: z.number().optional(), deadline_at: z.number().optional() })
    .describe(
      'How many calls wait for a person, since when the oldest does, and the nearest of their deadlines. Times are epoch milliseconds.',
    ),
  calls_held: z.int().describe('Calls that wait because of a hold.'),
  kept_results: z
    .object({
      results: z.int(),
      bytes: z.int(),
      max_results: z.int(),
      max_bytes: z.int(),
      problem: z.string().optional().describe('Why a large result could not be written in the last minutes.'),
    })
    .optional()
    .describe('The large results that are kept for agents, with the bytes of their files.'),
  hosts: z
    .array(hostReportSchema)
    .optional()
    .describe('The orchestrators with labels. Absent if the configuration names none.'),
  unread_files: z
    .array(z.string())
    .optional()
    .describe(
      "The files of other clients whose servers can't be read now, with the reasons. Absent if all can. Only operators are shown them.",
    ),
  config_problem: z
    .object({ since: z.number(), reason: z.string() })
    .optional()
    .describe(
      'Why the configuration file as it is now is not in force, and since when in epoch milliseconds. Absent if it is.',
    ),
  restart_needed: z
    .object({ since: z.number(), keys: z.array(z.string()) })
    .optional()
    .describe(
      'The keys of the configuration whose present values take effect after a restart only, and since when in epoch milliseconds. Absent if there are none.',
    ),
  warnings: patternWarningsSchema(),
  holds: z
    .array(z.string())
    .optional()
    .describe('The holds that stand: who holds what, since when and why. Absent if there are none.'),
});
/** The answer to op `servers`, in `data`. */
export type ServersReply = z.infer<typeof serversReplySchema>;

/** Accepts the answer to the ops `reload`, `stop` and `start`. */
export const serverReplySchema = z.object({ server: serverReportSchema });
/** The answer to the ops `reload`, `stop` and `start`, in `data`: the state of the server afterwards. */
export type ServerReply = z.infer<typeof serverReplySchema>;

/** Accepts the answer to op `discover`. */
export const discoveryReplySchema = z.object({
  servers: z.array(
    z.object({
      server: z.string(),
      tools: z.array(z.object({ name: z.string(), as: z.string(), description: z.string().optional() })),
      error: z.string().optional(),
    }),
  ),
  cursor: z
    .string()
    .optional()
    .describe('Given if there is another page. A server with many tools has several entries.'),
});
/** The answer to op `discover`, in `data`. `name` is the name that the server gives a tool; agents call it by `as`. */
export type DiscoveryReply = z.infer<typeof discoveryReplySchema>;
