import { z } from 'zod';

/** The kinds of definitions that are pinned: those of tools, of prompts, and the instructions of a server. */
export const definitionKinds = ['tool', 'prompt', 'instructions'] as const;
/** A kind of definition that is pinned. */
export type DefinitionKind = (typeof definitionKinds)[number];

const kind = z.enum(definitionKinds);
const hash = z.string().describe('A hash of the whole definition.');

/** Accepts one difference between two definitions. */
const definitionDifferenceSchema = z.object({
  path: z.string().describe('Where it is: `description`, `inputSchema.properties.path`.'),
  what: z.string().describe('What differs, in words: `the description of the parameter path`.'),
  before: z.string().optional().describe('Absent if there was nothing.'),
  after: z.string().optional().describe('Absent if there is nothing any more.'),
  cut: z.literal(true).optional().describe('The texts are not shown whole.'),
});
/** One difference between two definitions. Invisible characters are written as escapes. */
export type DefinitionDifference = z.infer<typeof definitionDifferenceSchema>;

/** Accepts the state of one definition of a pinned server. */
const definitionReportSchema = z.object({
  server: z.string(),
  kind,
  name: z.string().describe('The name that the server gives it; of instructions, `instructions`.'),
  as: z.string().optional().describe('The name by which agents know a tool or a prompt.'),
  state: z
    .enum(['pinned', 'changed', 'new', 'gone'])
    .describe(
      '`changed` and `new` ones are withheld until they are accepted. `gone`: pinned, and not shown now.',
    ),
  pinned: z
    .object({
      hash,
      at: z.number().describe('Epoch milliseconds.'),
      by: z.string().optional().describe('The operator that accepted it. Absent if it was seen first.'),
      damaged: z.literal(true).optional().describe('The record is damaged, so that nothing is as pinned.'),
    })
    .optional(),
  listed: hash.optional().describe('The hash of what the server lists now.'),
  differences: z
    .array(definitionDifferenceSchema)
    .optional()
    .describe(
      'How a withheld definition differs from the pinned one. Absent where there was no room for it.',
    ),
  more_differences: z.number().optional().describe('The number of differences that are not listed.'),
});
/** The state of one definition of a pinned server. */
export type DefinitionReport = z.infer<typeof definitionReportSchema>;

/** Accepts the answer to op `definitions`. */
export const definitionsReplySchema = z.object({
  definitions: z.array(definitionReportSchema),
  more: z.number().optional().describe('The number of definitions that are not listed.'),
  servers: z
    .array(
      z.object({
        server: z.string(),
        pinned: z.number(),
        withheld: z.number(),
        seen: z
          .string()
          .optional()
          .describe('What `accept_definitions` takes: it stands for all that is withheld and shown here.'),
      }),
    )
    .describe('The servers with `definitions: pin`.'),
});
/** The answer to op `definitions`, in `data`. */
export type DefinitionsReply = z.infer<typeof definitionsReplySchema>;

/** Accepts the answer to op `accept_definitions`. */
export const acceptDefinitionsReplySchema = z.object({
  server: z.string(),
  accepted: z.array(z.object({ kind, name: z.string(), hash })),
});
/** The answer to op `accept_definitions`, in `data`. */
export type AcceptDefinitionsReply = z.infer<typeof acceptDefinitionsReplySchema>;

const nameSchema = z.string().min(1).max(4096);

/** Accepts a question about the definitions of pinned servers. */
export const definitionsRequestSchema = z.object({
  op: z.literal('definitions'),
  server: z.string().min(1).max(256).optional().describe('Only those of this server.'),
  name: nameSchema
    .optional()
    .describe('Only those with this name: the one of the server, or the one that agents know.'),
  withheld: z
    .literal(true)
    .optional()
    .describe('Only those that are withheld, each with how it differs from what is pinned.'),
});
/** Asks which definitions of pinned servers match their pins, and which are withheld. */
export type DefinitionsRequest = z.infer<typeof definitionsRequestSchema>;

/** Accepts a request to accept definitions that are withheld. */
export const acceptDefinitionsRequestSchema = z.object({
  op: z.literal('accept_definitions'),
  server: z.string().min(1).max(256),
  name: nameSchema.optional().describe('Only those with this name. Default: all that are withheld.'),
  seen: z
    .string()
    .min(1)
    .max(64)
    .describe(
      'The `seen` of the answer that was looked at. If anything has changed since, nothing is accepted.',
    ),
});
/** Asks to show withheld definitions from now on. */
export type AcceptDefinitionsRequest = z.infer<typeof acceptDefinitionsRequestSchema>;
