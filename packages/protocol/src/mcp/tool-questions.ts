import { z } from 'zod';
import { serverReportSchema } from './server-report.ts';

/** Answer to op `explain` (in `data`): what would become of a call of this tool by this role, and why. */
export const explanationSchema = z.object({
  tool: z.string(),
  role: z.string(),
  allowed: z.boolean(),
  /** The rule that decided, in the configuration's words: `roles.researcher.tools: 'mcp_x__*'`, `unlisted: deny`. */
  rule: z.string(),
  exists: z.boolean(),
  /** Callable by its exact name, but in no list. */
  hidden: z.boolean(),
  server: z.string().optional(),
  state: serverReportSchema.shape.state.optional(),
  circuit: serverReportSchema.shape.circuit.optional(),
  /** Calls on its server, of all its tools. */
  running: z.number().optional(),
  waiting: z.number().optional(),
  /** Whether a call that was sent may be made again. */
  repeat: z.enum(['safe', 'unsafe']),
  /** What decided that: the operator's list, or what the server declares. */
  repeat_rule: z.string().optional(),
  /** When its definition last changed while this orchestrator ran, in epoch milliseconds. */
  changed_at: z.number().optional(),
  /** The most similar tool that the role may call. */
  nearest: z.string().optional(),
});
export type Explanation = z.infer<typeof explanationSchema>;

/** Answer to op `search` (in `data`), best first. `score` ranks the tools of one answer and means nothing else. */
export const searchReplySchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      score: z.number(),
    }),
  ),
});
export type SearchReply = z.infer<typeof searchReplySchema>;
