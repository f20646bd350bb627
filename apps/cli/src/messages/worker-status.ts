import { z } from 'zod';

const faceSchema = z.object({
  worker: z.literal('mcp'),
  calls: z.int().min(0),
  client: z.string().optional(),
});
const runSchema = z.object({
  worker: z.literal('run'),
  command: z.string(),
  last_output_at: z.number().optional(),
  last_output: z.string().optional(),
});
const echoSchema = z.object({ worker: z.literal('echo'), state: z.enum(['idle', 'working']) });
const schema = z.discriminatedUnion('worker', [faceSchema, runSchema, echoSchema]);

/** What the connections of our own workers announce, as far as it is shown. */
export type WorkerStatus = z.infer<typeof schema>;

/** Reads an announced status; `undefined` if it is somebody else's. */
export function workerStatus(announced: unknown): WorkerStatus | undefined {
  return schema.safeParse(announced).data;
}
