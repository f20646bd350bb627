import { z } from 'zod';
import { idSchema, kindSchema } from '../names/name-schemas.ts';
import { frameDefaults, frameLimits } from './frame-limits.ts';
import { frameSchema } from './frame-schema.ts';
import { isJsonObject } from './parse-json.ts';
import { undeliverableReasons } from './undeliverable.ts';

/** Bounds of lanes. */
export const laneLimits = {
  /** Bytes of a request that may go on a lane. A longer one goes through the broker. */
  requestBytes: 64 * 1024,
  /** Lanes of one agent at a time. */
  perAgent: 4,
  /** The time within which a ticket must be used, in milliseconds. */
  ticketMs: 10_000,
  /** The time without a word of the broker after which an orchestrator takes no new call from a lane, in milliseconds. */
  leaseMs: 3_000,
  /** The time between two words of the broker about the lanes, in milliseconds. */
  beatMs: 1_000,
} as const;

/** Accepts a report of a call that has begun on a lane, or of one that has ended: then it has `reply_bytes`. */
export const laneCallSchema = z
  .object({
    lane: idSchema,
    id: idSchema.describe('The id of the request.'),
    thread: idSchema.optional().describe('Absent: its `id`.'),
    bytes: z.int().min(0).describe('Bytes of the request.'),
    reply_bytes: z.int().min(0).optional().describe('Bytes of the reply. Absent: the call has begun.'),
  })
  .meta({ id: 'LaneCall', title: 'lane call', description: 'A call that begins or ends on a lane.' });

/** A report of a call on a lane. */
export type LaneCall = z.infer<typeof laneCallSchema>;

/** Accepts the number of calls that have begun on a lane since the report before. */
export const begunCallsSchema = z
  .object({ lane: idSchema, calls: z.int().min(1) })
  .meta({ id: 'BegunCalls', title: 'lane count', description: 'How many calls have begun on a lane.' });

const ticket = z.string().max(64);
const requestId = idSchema.describe('The id of the request.');

/**
 * The schema of every frame on a lane, by its `type`, without its body line. A lane is a Unix socket between a worker and an orchestrator;
 * its lines are written like those of the broker's connections.
 */
export const laneFrameSchemas = {
  lane: frameSchema(
    'lane',
    'The first frame of the worker, which shows its ticket, and the first of the orchestrator, which shows the proof.',
    {
      lane: idSchema,
      secret: ticket.describe('The `ticket` or the `proof` of `lane_opened`.'),
      epoch: idSchema
        .optional()
        .describe('Of the orchestrator: the epoch of its journal. Absent if it has no journal.'),
    },
  ),
  request: frameSchema('request', 'Of the worker: sends a request with its body.', {
    id: requestId,
    kind: kindSchema,
    remaining_ms: z.int().min(0).max(frameDefaults.ttlMs).describe('Its lifetime.'),
    first: z
      .literal(true)
      .optional()
      .describe('Nobody ever sent a request with this id: the orchestrator looks for no earlier one.'),
    thread: idSchema.optional(),
    traceparent: z.string().max(frameLimits.traceparentLength).optional(),
  }),
  cancel: frameSchema('cancel', 'Of the worker: cancels its request.', { id: requestId }),
  ack: frameSchema('ack', 'Of the worker: it has the replies to these requests.', {
    ids: z.array(idSchema).min(1).max(frameLimits.seqs),
  }),
  reply: frameSchema('reply', 'Of the orchestrator: the final reply to a request, with its body.', {
    id: requestId,
    kind: kindSchema,
    traceparent: z.string().max(frameLimits.traceparentLength).optional(),
  }),
  progress: frameSchema('progress', 'Of the orchestrator: progress of a request, with its body.', {
    id: requestId,
  }),
  undeliverable: frameSchema(
    'undeliverable',
    'Of the orchestrator: the request ends without having begun, as in the body of the broker’s `undeliverable`.',
    { id: requestId, reason: z.enum(undeliverableReasons) },
  ),
  use_broker: frameSchema(
    'use_broker',
    'Of the orchestrator: it does not go on with this request. The worker sends it through the broker, under the same id.',
    {
      id: requestId,
      maybe_begun: z.literal(true).optional().describe('It may have begun. Absent: it has not.'),
    },
  ),
} as const;

/** A frame on a lane, without its body line. */
export type LaneFrame = z.infer<(typeof laneFrameSchemas)[keyof typeof laneFrameSchemas]>;

const compiled = new Map<unknown, z.ZodType<LaneFrame>>();

/** Reads one header line of a lane; `undefined` if it is none. */
export function parseLaneFrame(header: string): LaneFrame | undefined {
  let object: unknown;
  try {
    object = JSON.parse(header);
  } catch {
    return undefined;
  }
  if (!isJsonObject(object)) return undefined;
  const { type } = object;
  let schema = compiled.get(type);
  if (schema === undefined) {
    if (typeof type !== 'string' || !Object.hasOwn(laneFrameSchemas, type)) return undefined;
    schema = z.compile(laneFrameSchemas[type as keyof typeof laneFrameSchemas] as z.ZodType<LaneFrame>);
    compiled.set(type, schema);
  }
  return schema.safeParse(object).data;
}
