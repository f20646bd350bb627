import {
  idSchema,
  isAgentId,
  isGroupName,
  isJsonObject,
  maxTokenLength,
  SignalboxError,
} from '@signalbox/protocol';
import { z } from 'zod';

/** The version of the lines between a shim and a shared face, which are described in `docs/protocol/shared-face.md`. */
const version = 1;

const consumerPattern = /^[A-Za-z0-9_-]{22}$/;

/** The most messages of one turn of a served agent. */
const maxTurnMessages = 64;

const helloSchema = z.object({
  signalbox_face: z.literal(version),
  agent: z.string().refine(isAgentId, 'is no agent id').optional(),
  token: z.string().min(1).max(maxTokenLength),
  url: z.string().max(4096).optional(),
  consumer: z.string().regex(consumerPattern, 'is not 22 characters of base64url'),
  options: z
    .object({
      orchestrator: z.string().refine(isAgentId, 'is no agent id').optional(),
      tools: z.enum(['all', 'search']).optional(),
      permissions: z.literal('ask').optional(),
      timeout_ms: z.int().positive().optional(),
      turn: z
        .object({
          seqs: z.array(z.int().positive()).max(maxTurnMessages).readonly(),
          group: z.string().refine(isGroupName, 'is no group').optional(),
          thread: idSchema.optional(),
        })
        .optional(),
    })
    .default({}),
});

/** The first line of a shim. `url` is the broker that the shim was given; `consumer` is the same over all connections of one shim. */
export type FaceHello = z.infer<typeof helloSchema>;

const hintQuestionSchema = helloSchema.pick({ token: true }).extend({
  signalbox_hint: z.literal(version),
  agent: z.string().refine(isAgentId, 'is no agent id'),
  wait: z.boolean().optional(),
});

/** The first line of a hook of an agent CLI, which asks whether its agent has new mail, or with `wait` waits for some. */
export type HintQuestion = z.infer<typeof hintQuestionSchema>;

/** The reason why a shared face does not serve a connection, or serves it no longer. */
export interface FaceRefusal {
  code: string;
  message: string;
  /** True if the same shim may be served later. */
  retryable: boolean;
  hint?: string;
}

/** A line of the face that is no MCP message. */
export type FaceLine =
  | { welcome: { agent: string; role: string } }
  | { refused: FaceRefusal }
  | { waits: FaceRefusal }
  | { ended: FaceRefusal }
  | { kept: number }
  | { dropped: number }
  | { epoch: string | null }
  | { hint: string | null; superseded?: true };

/** Reads the first line of a connection. Throws `bad_hello`; the error never holds the token. */
export function readFirstLine(line: string): FaceHello | HintQuestion {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw badHello('the first line is not JSON');
  }
  const asks = isJsonObject(json) && 'signalbox_hint' in json;
  const read = (asks ? hintQuestionSchema : helloSchema).safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw badHello(`'${issue?.path.join('.')}' in the first line ${issue?.message}`);
}

function badHello(message: string): SignalboxError {
  return new SignalboxError('bad_hello', message, {
    details: { hint: 'the shim and the face may be of different versions: restart the agent' },
  });
}
