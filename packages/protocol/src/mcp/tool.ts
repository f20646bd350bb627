import { z } from 'zod';

/** A tool in MCP's own shape. Unknown fields are kept, so that nothing a server says is lost on the way. */
export const toolSchema = z.looseObject({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  outputSchema: z.looseObject({}).optional(),
  annotations: z.looseObject({}).optional(),
  icons: z.array(z.looseObject({})).optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
export type Tool = z.infer<typeof toolSchema>;

/** The tools one role sees. `version` changes whenever anything in it does. */
export const manifestSchema = z.object({
  version: z.string(),
  unchanged: z.literal(true).optional(),
  tools: z.array(toolSchema).optional(),
  /** The role may also call tools by their exact names that are not listed. */
  has_unlisted: z.literal(true).optional(),
  /** Which of the mailbox tools the role may see, where that is not all: none, or those of the list. */
  mailbox: z.union([z.literal(false), z.array(z.string())]).optional(),
});
export type Manifest = z.infer<typeof manifestSchema>;
