import { z } from 'zod';
import { addressSchema, agentIdSchema, roleSchema } from '../names/name-schemas.ts';
import { serverReportSchema } from './server-report.ts';

const serverName = z.string().min(1).max(256);

/** Accepts what an orchestrator adds to a request that it passes on to one with a label. */
export const hostedSchema = z
  .object({
    server: serverName.describe('The name of the server there.'),
    caller: z
      .object({ agent: agentIdSchema, role: roleSchema, address: addressSchema.optional() })
      .optional()
      .describe('The agent that the request is made for.'),
    once: z.literal(true).optional().describe('The call must not be made again, whatever its tool declares.'),
  })
  .describe(
    'Given by an orchestrator that passes a request on to one with a label: `tool`, prompts and URIs have their names at the server.',
  );

/** What an orchestrator adds to a request that it passes on. */
export type Hosted = z.infer<typeof hostedSchema>;

/** The lists of a server, under the names that MCP has for them. */
export const hostedLists = ['tools', 'prompts', 'resources', 'templates'] as const;

/** A list of a server. */
export type HostedList = (typeof hostedLists)[number];

/** Accepts the question of an orchestrator which servers one with a label has. */
export const hostedRequestSchema = z.object({
  op: z.literal('hosted'),
  at_end: z
    .literal(true)
    .optional()
    .describe('The answer comes when the orchestrator ends in order, or its time is over, and not before.'),
  reload: serverName
    .optional()
    .describe('A server that an operator reloads: the answer comes when it was started again, or failed to.'),
  refused: z
    .array(serverName)
    .max(100)
    .optional()
    .describe(
      'Servers of the orchestrator with the label that the asker refuses: its `hosts` does not name them.',
    ),
});

/** Accepts the question for a page of a list of such a server. */
export const hostedListRequestSchema = z.object({
  op: z.literal('hosted_list'),
  server: serverName,
  list: z.enum(hostedLists),
  after: z.int().min(0).optional().describe('The number of entries that were read before; default 0.'),
});

/** Accepts the answer to op `hosted`. */
export const hostedReplySchema = z.object({
  servers: z.array(
    z.object({
      server: serverName,
      state: serverReportSchema.shape.state,
      version: z.string().max(256).describe('Changes exactly when one of its lists does.'),
      problem: z.string().max(1_000).optional().describe('Why it takes no calls. It holds no secrets.'),
    }),
  ),
  ends: z
    .object({
      successor: z
        .boolean()
        .describe(
          'Whether another orchestrator of the label is connected: it gets the calls that have not begun. Without one they are refused.',
        ),
    })
    .optional()
    .describe(
      'Given by an orchestrator that ends in order: it begins no call any more, and answers those that run.',
    ),
});
/** The answer to op `hosted`, in `data`: the servers of an orchestrator with a label. */
export type HostedReply = z.infer<typeof hostedReplySchema>;

/** Accepts the answer to op `hosted_list`. */
export const hostedListReplySchema = z.object({
  entries: z.array(z.unknown()).describe('Entries as the server sent them.'),
  more: z.boolean(),
  instructions: z.string().optional().describe('The instructions of the server, with its first tools.'),
  kinds: z
    .array(z.enum(['prompts', 'resources']))
    .optional()
    .describe('What the server has beside tools, with its first tools.'),
});
/** The answer to op `hosted_list`, in `data`: a page of a server's list. */
export type HostedListReply = z.infer<typeof hostedListReplySchema>;
