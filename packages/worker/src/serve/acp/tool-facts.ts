import { z } from 'zod';

/** The facts of one use of a tool, put together from all that its agent sent about it. */
export interface ToolFacts {
  readonly name?: string | undefined;
  /** Its words for people: for a shell the command itself, so that nothing is decided by them. */
  readonly title?: string | undefined;
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
  /** The arguments; `undefined` if they were not told. */
  readonly input?: unknown;
  readonly paths?: readonly string[] | undefined;
  readonly content?: readonly unknown[] | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
}

const text = z.string().nullish().catch(undefined);

/** Accepts a tool call, an update of one, and the tool call of a request for a permission. Fields in another form count as absent. */
export const toolUpdateSchema = z.object({
  toolCallId: z.string(),
  name: text,
  title: text,
  kind: text,
  status: text,
  rawInput: z.unknown().optional(),
  locations: z
    .array(z.object({ path: z.string() }))
    .nullish()
    .catch(undefined),
  content: z.array(z.unknown()).nullish().catch(undefined),
  _meta: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});
export type ToolUpdate = z.infer<typeof toolUpdateSchema>;

/** Adds an update to what was told before. A field that it leaves out stays. */
export function withUpdate(facts: ToolFacts | undefined, update: ToolUpdate): ToolFacts {
  const { name, title, kind, status, rawInput, locations, content, _meta } = update;
  return {
    name: name ?? facts?.name,
    title: title ?? facts?.title,
    kind: kind ?? facts?.kind,
    status: status ?? facts?.status,
    input: rawInput ?? facts?.input,
    paths: locations?.map(({ path }) => path) ?? facts?.paths,
    content: content ?? facts?.content,
    meta: { ...facts?.meta, ..._meta },
  };
}
