import { z } from 'zod';

/** A time that can be written as a date: any agent may announce a status. */
const time = z.number().min(0).max(8.64e15);
const faceSchema = z.object({
  worker: z.literal('mcp'),
  calls: z.int().min(0),
  client: z.string().optional(),
});
const runSchema = z.object({
  worker: z.literal('run'),
  command: z.string(),
  restarts: z.int().min(0).optional(),
  tools_lost: z.literal(true).optional(),
  last_output_at: time.optional(),
  last_output: z.string().optional(),
});
const servedTurnSchema = z.object({
  id: z.string(),
  from: z.string(),
  kind: z.string(),
  messages: z.int().min(2).optional(),
  thread: z.string().optional(),
  since: time,
  calls: z.array(z.object({ title: z.string(), status: z.string() })).optional(),
});
const keptProcessSchema = z.object({ pid: z.int().optional(), thread: z.string(), since: time });
const privateSchema = z.object({
  running: z.array(servedTurnSchema),
  kept: z.array(keptProcessSchema).optional(),
});
const serveSchema = z.object({
  worker: z.literal('serve'),
  command: z.string(),
  turns: z.int().min(0),
  private: privateSchema.optional(),
  asking: z.int().min(1).optional(),
  kept: z.int().min(1).optional(),
  failing_since: time.optional(),
  failing_reason: z.string().optional(),
  last_output_at: time.optional(),
  last_output: z.string().optional(),
});
const echoSchema = z.object({ worker: z.literal('echo'), state: z.enum(['idle', 'working']) });
const schema = z.discriminatedUnion('worker', [faceSchema, runSchema, serveSchema, echoSchema]);

/**
 * A turn of a served agent that runs, by its first message. `messages` is their number if there are several, and `since` is in epoch
 * milliseconds of its process. `calls` are the uses of tools that have not ended, of an agent that tells them.
 */
export type ServedTurn = z.infer<typeof servedTurnSchema>;

/** A process of a served agent that waits for the next turn of its thread, since a time in epoch milliseconds of the machine it is on. */
export type KeptProcess = z.infer<typeof keptProcessSchema>;

/** The parts of a worker's announced status that are shown. */
export type WorkerStatus = z.infer<typeof schema>;

/** Reads an announced status; returns `undefined` for that of another program. */
export function workerStatus(announced: unknown): WorkerStatus | undefined {
  return schema.safeParse(announced).data;
}

/** Reads the running turns and the kept processes in the private part of an announced status; `undefined` for that of another program. */
export function servedParts(
  part: unknown,
): { running: ServedTurn[]; kept?: KeptProcess[] | undefined } | undefined {
  return privateSchema.safeParse(part).data;
}
