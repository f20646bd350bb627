import { z } from 'zod';
import {
  addressSchema,
  agentIdSchema,
  groupSchema,
  idSchema,
  kindSchema,
  recipientSchema,
  roleSchema,
  seqSchema,
} from '../names/name-schemas.ts';
import { auditReportSchema } from './audit-codes.ts';
import { frameDefaults, frameLimits, protocolVersion } from './frame-limits.ts';
import { frameSchema } from './frame-schema.ts';
import { journalClaimSchema } from './journal.ts';
import { begunCallsSchema, laneCallSchema } from './lane-frames.ts';
import { orchestratorFigureLimits } from './orchestrator-figures.ts';

const requestId = idSchema.describe('The answer repeats it.');
const optionalRequestId = idSchema.optional().describe('Asks for an answer, which repeats it.');
const correlationId = idSchema.describe('The id of the request.');
const seqs = z.array(seqSchema).min(1).max(frameLimits.seqs);
const claim = 'A claim that must be true.';
const traceparent = z.string().max(frameLimits.traceparentLength).optional();
const setByBroker = z
  .never({ error: 'is set by the broker; leave it out' })
  .optional()
  .describe('Refused: the broker sets it.');

/**
 * The schema of every frame that a client may send, by its `type`, without its body line. The types, the reader, the refusals and the
 * page of the protocol come from it.
 */
export const clientFrameSchemas = {
  hello: frameSchema(
    'hello',
    'Says who connects. It is the first frame. Answer: `welcome`, or `error` and the connection closes.',
    {
      agent: addressSchema,
      token: z
        .string()
        .max(frameLimits.tokenLength)
        .optional()
        .describe('It may stand in the upgrade’s `Authorization: Bearer` header instead.'),
      protocol: z.int().describe(`The version, which is ${protocolVersion}.`),
      role: z.string().optional().describe(claim),
    },
  ),

  deliver: frameSchema(
    'deliver',
    'Sends a message with its body. Answer: `delivered` or `error` with its `id`. An ephemeral message has no receipt, only an `error` if it failed.',
    {
      to: recipientSchema,
      id: idSchema,
      kind: kindSchema,
      correlation_id: correlationId.optional(),
      group_key: z
        .string()
        .min(1)
        .max(frameLimits.groupKeyLength)
        .optional()
        .describe(
          'For a group: messages with the same key are handed out one after the other, in their order.',
        ),
      thread: idSchema
        .optional()
        .describe(
          'The thread of messages that it belongs to. Default: its `correlation_id`, else its `id`. Not for replies and ephemeral messages. In a group it is the default of `group_key`.',
        ),
      all: z
        .literal(true)
        .optional()
        .describe(
          'For a group: each member but the sender gets a copy in its own inbox. Not for `ask`, `mcp_request`, replies and ephemeral messages.',
        ),
      partial: z
        .literal(true)
        .optional()
        .describe(
          'With `all`: members whose inboxes refuse the message are left out. Else one of them refuses it for all.',
        ),
      ttl_ms: z
        .int()
        .positive()
        .optional()
        .describe(`Its lifetime. Default: ${frameDefaults.ttlMs / 86_400_000} days.`),
      not_before_ms: z
        .int()
        .positive()
        .optional()
        .describe(
          'The time after which it is handed out, from its storing on. Its lifetime begins then. Not for `ask`, `mcp_request`, replies and ephemeral messages, and not with `settles`.',
        ),
      traceparent: traceparent.describe('W3C trace context. The broker passes it on.'),
      settles: seqSchema
        .optional()
        .describe('Acks that message of the sender’s own inbox in the commit that stores this one.'),
      asked: addressSchema
        .optional()
        .describe(
          'For a `reply`, in place of `settles`: the inbox to which the request was sent, of the sender or, for operators, of any operator. The reply acks it there, without a lease.',
        ),
      ephemeral: z
        .boolean()
        .optional()
        .describe('It goes to a live holder of the inbox only and is never stored.'),
      from: z
        .union([
          z.string(),
          z.object({
            agent: z.string().optional(),
            address: z.string().optional(),
            role: z.string().optional(),
          }),
        ])
        .optional()
        .describe(claim),
      role: z.string().optional().describe(claim),
      attempt: setByBroker,
      seq: setByBroker,
    },
  ),

  subscribe: frameSchema(
    'subscribe',
    'Takes the lease of the connection’s inbox, or joins a group. Answer: `subscribed`, then the backlog, then new messages.',
    {
      request_id: requestId,
      address: groupSchema
        .optional()
        .describe('The group to join, for a connection that said `hello` as `agent#grp-…`: section 6.'),
      shared: z
        .literal(true)
        .optional()
        .describe('Goes with `address`: the members of a group share its messages.'),
      window: z
        .int()
        .min(0)
        .max(frameLimits.windowMessages)
        .optional()
        .describe(
          `Messages that are pushed and not settled. Default: ${frameDefaults.windowMessages}, for a group ${frameDefaults.groupWindowMessages}. 0, for a group only: nothing more is pushed.`,
        ),
      window_bytes: z
        .int()
        .min(1)
        .optional()
        .describe(
          `Bytes that are pushed and not settled. Default: ${frameDefaults.windowBytes / 1024 ** 2} MiB.`,
        ),
      journal: journalClaimSchema
        .optional()
        .describe('Names the journal in which the consumer notes what it has done.'),
      ack_deadline_ms: z
        .int()
        .min(frameLimits.minAckDeadlineMs)
        .max(frameLimits.maxAckDeadlineMs)
        .optional()
        .describe(
          'The time in which a pushed message must be settled or renewed. Default: none. A group needs it.',
        ),
      consumer_id: z
        .string()
        .min(1)
        .max(frameLimits.consumerIdLength)
        .optional()
        .describe(
          'A name of the subscribing process, which it keeps over reconnects: see section 6, rule 7.',
        ),
    },
  ),

  ack: frameSchema('ack', 'Settles messages. Answer, if asked for: `ack_result`, after the commit.', {
    seqs,
    request_id: optionalRequestId,
  }),

  nack: frameSchema('nack', 'Gives messages back. Answer, if asked for: `ack_result`, after the commit.', {
    seqs,
    request_id: optionalRequestId,
    delay_ms: z
      .int()
      .min(0)
      .max(frameLimits.nackDelayMs)
      .optional()
      .describe('They are handed out again after this time.'),
    dead: z.boolean().optional().describe('They become dead letters at once.'),
    counts: z
      .boolean()
      .optional()
      .describe(
        'False: nothing that the messages could do about failed, so that it is no failed attempt of theirs.',
      ),
    reason: z.string().max(frameLimits.nackReasonLength).optional(),
  }),

  working: frameSchema(
    'working',
    'Says that messages were handed to a handler, and renews their ack deadlines. No answer.',
    {
      seqs,
      traceparent: traceparent.describe(
        'W3C trace context of the handler. If the work fails, or the consumer is lost, the next one is told it as `first_attempt`.',
      ),
    },
  ),

  cancel: frameSchema(
    'cancel',
    'Cancels a request that its sender made, or a message that is not due. Answer, if asked for: `cancel_result`.',
    {
      to: recipientSchema,
      correlation_id: idSchema.describe('The id of the request, or of the message.'),
      request_id: optionalRequestId,
      sender: agentIdSchema
        .optional()
        .describe(
          'Its sender. Then only a message that is not due is cancelled, of another agent by an operator.',
        ),
    },
  ),

  list_scheduled: frameSchema(
    'list_scheduled',
    'Asks for messages that are not due, without their bodies. Answer: `scheduled`.',
    {
      request_id: requestId,
      to: recipientSchema.optional().describe('Only messages to this inbox.'),
      sender: agentIdSchema
        .optional()
        .describe('Only messages of this agent. Default: of every agent that the caller may ask about.'),
      limit: z
        .int()
        .min(1)
        .max(frameLimits.peekMessages)
        .optional()
        .describe(`Default: ${frameDefaults.peekMessages}.`),
      cursor: z
        .string()
        .max(frameLimits.cursorLength)
        .optional()
        .describe('The cursor that the previous page gave.'),
    },
  ),

  announce: frameSchema(
    'announce',
    'Sets the status that `connected` tells of this connection, at most once a second. No answer but an `error`.',
    {
      status: z
        .unknown()
        .refine(isShortJson, { error: `must be JSON of at most ${frameLimits.statusLength} characters` })
        .describe(
          `JSON of at most ${frameLimits.statusLength} characters. Only operators and the agent itself are shown the member \`private\` of an object.`,
        ),
      failed: z
        .string({ error: 'must be a text' })
        .max(frameLimits.failedLength, { error: `must have at most ${frameLimits.failedLength} characters` })
        .optional()
        .describe(
          'How the program behind the connection ended, if it failed. `failures` tells of it for 24 h, or until a later connection of the agent announces a status. The rate does not count here, once for each connection.',
        ),
    },
  ),

  list_connected: frameSchema('list_connected', 'Asks for the connected agents. Answer: `connected`.', {
    request_id: requestId,
    role: roleSchema.optional().describe('Only agents with this role.'),
    agent: agentIdSchema.optional().describe('Only this agent; the answer then has its `recipient`.'),
    cursor: z
      .string()
      .max(frameLimits.cursorLength)
      .optional()
      .describe('The cursor that the previous page gave.'),
    with_status: z.boolean().optional().describe('Asks for `status` and `inbox` of each.'),
  }),

  peek: frameSchema('peek', 'Asks for messages that wait, without claiming them. Answer: `peeked`.', {
    request_id: requestId,
    address: recipientSchema
      .optional()
      .describe('Default: the inbox of the connection. A group is for its members.'),
    after: z.int().min(0).optional().describe('Only messages with a higher sequence number.'),
    limit: z
      .int()
      .min(1)
      .max(frameLimits.peekMessages)
      .optional()
      .describe(`Default: ${frameDefaults.peekMessages}.`),
    bodies: z.boolean().optional().describe('`false` leaves the bodies out. Default: true.'),
  }),

  find: frameSchema(
    'find',
    'Asks whether requests in the connection’s inbox are settled, and whether certain replies of this agent are stored, to them or to requests of its groups. Only orchestrators may ask about more than one at a time, and whether senders are connected. Answer: `found`.',
    {
      request_id: requestId,
      requests: z
        .array(
          z.object({
            agent: agentIdSchema.optional(),
            id: idSchema,
            reply: idSchema.optional(),
            with_sender: z.literal(true).optional(),
          }),
        )
        .min(1)
        .max(frameLimits.findRequests)
        .describe(
          'The agent that sent each request, the id of the request, and the id under which this agent may have sent its reply. Without the agent, the requests of all senders with this id. `with_sender` asks whether the sender is connected, too.',
        ),
    },
  ),

  audit: frameSchema(
    'audit',
    'Reports events of an orchestrator for the audit log. Only for orchestrators. Answer: `audited`.',
    {
      request_id: requestId,
      batch: idSchema.describe(
        'A new id. A batch whose id is that of the last one of this agent is recorded already.',
      ),
      sent_at: z
        .number()
        .optional()
        .describe('When it was sent, by the clock of its sender, which is believed within the last minute.'),
      events: z.array(auditReportSchema).min(1).max(frameLimits.auditEvents),
    },
  ),

  metrics: frameSchema(
    'metrics',
    `Reports the figures of an orchestrator, in place of those before, which \`GET /metrics\` shows while it is connected. The body is JSON of at most ${orchestratorFigureLimits.bytes / 1024} KiB: section 12. Only for orchestrators. No answer but an \`error\`.`,
    {
      problems: z
        .array(z.string())
        .max(orchestratorFigureLimits.problems)
        .describe('What is wrong with its hosted servers, for people who ask `GET /readyz?verbose`.'),
    },
  ),

  check_tokens: frameSchema(
    'check_tokens',
    'Asks who issued the tokens of agents, and whether tokens decide on the tool calls of roles now. Only for orchestrators. Answer: `tokens_checked`.',
    {
      request_id: requestId,
      agents: z
        .array(agentIdSchema)
        .max(frameLimits.checkedTokens)
        .optional()
        .describe('Agents. Default: none.'),
      deciders: z
        .array(z.object({ token_id: idSchema, role: roleSchema }))
        .max(frameLimits.checkedTokens)
        .optional()
        .describe('The ids of tokens, each with a role. Default: none.'),
    },
  ),

  follow_holds: frameSchema(
    'follow_holds',
    'Asks for the holds that stand, now and after each change. Only for orchestrators. Answer: `holds`.',
    {},
  ),

  holds_known: frameSchema(
    'holds_known',
    'Says that an orchestrator acts by these holds now: no call starts any more on which one of them is. Only for orchestrators. No answer but an `error`.',
    { version: z.int().min(0).describe('The `version` of the last `holds`.') },
  ),

  follow_rights: frameSchema(
    'follow_rights',
    'Asks to be told when the rights of the caller, or of agents that it names, may have changed. A list replaces the one before. No answer but an `error`; `rights_changed` follows.',
    { agents: z.array(agentIdSchema).max(frameLimits.followedAgents) },
  ),

  serve_lanes: frameSchema(
    'serve_lanes',
    'Says where an orchestrator on this machine takes tool calls on lanes: section 13. Only for orchestrators; that of one with a label counts only over the broker’s Unix socket. No answer but an `error`.',
    {
      path: z
        .string()
        .max(frameLimits.pathLength)
        .optional()
        .describe('The absolute path of its Unix socket. Without it, the orchestrator opens no more lanes.'),
    },
  ),

  open_lane: frameSchema('open_lane', 'Asks for a lane to an orchestrator. Answer: `lane_opened`.', {
    request_id: requestId,
    to: agentIdSchema,
  }),

  lane_calls: frameSchema(
    'lane_calls',
    'Reports calls of lanes. Only for orchestrators. No answer but an `error`.',
    {
      begun: z
        .array(begunCallsSchema)
        .max(frameLimits.laneCalls)
        .describe('Counts the calls that have begun, for the rates of their workers.'),
      calls: z
        .array(laneCallSchema)
        .max(frameLimits.laneCalls)
        .optional()
        .describe('The calls that have begun or ended, while `watched`.'),
    },
  ),

  admin: frameSchema('admin', 'Asks for an operation of section 9. Answer: `admin_result`.', {
    request_id: requestId,
    op: z.string().min(1).max(frameLimits.opLength),
    params: z.record(z.string(), z.unknown()).optional(),
  }),
} as const;

type FrameOf<T extends keyof typeof clientFrameSchemas> = z.infer<(typeof clientFrameSchemas)[T]>;

/** A frame that a client may send, without its body line. */
export type ClientFrame = FrameOf<keyof typeof clientFrameSchemas>;
/** The frame `hello`, by which a client says who it is and proves it. */
export type HelloFrame = FrameOf<'hello'>;
/** The frame `deliver`, which sends a message. */
export type DeliverFrame = FrameOf<'deliver'>;
/** The frame `subscribe`, which asks for the lease on the inbox of the connection. */
export type SubscribeFrame = FrameOf<'subscribe'>;
/** The frame `ack`, which settles messages. */
export type AckFrame = FrameOf<'ack'>;
/** The frame `nack`, which gives messages back. */
export type NackFrame = FrameOf<'nack'>;
/** The frame `working`, which says that a handler works on messages. */
export type WorkingFrame = FrameOf<'working'>;
/** The frame `cancel`, by which a client cancels a request or a scheduled message that it sent. */
export type CancelFrame = FrameOf<'cancel'>;
/** The frame `list_scheduled`, which asks for messages that are not due. */
export type ListScheduledFrame = FrameOf<'list_scheduled'>;
/** The frame `follow_rights`, which asks for changes of the rights of agents. */
export type FollowRightsFrame = FrameOf<'follow_rights'>;
/** The frame `announce`, which sets the status of the connection. */
export type AnnounceFrame = FrameOf<'announce'>;
/** The frame `list_connected`, which asks for the connected agents. */
export type ListConnectedFrame = FrameOf<'list_connected'>;
/** The frame `peek`, which reads messages without claiming them. */
export type PeekFrame = FrameOf<'peek'>;
/** The frame `find`, which asks whether requests are settled or answered. */
export type FindFrame = FrameOf<'find'>;
/** The frame `audit`, which reports events of an orchestrator for the audit log. */
export type AuditFrame = FrameOf<'audit'>;
/** The frame `metrics`, which reports the figures of an orchestrator. */
export type MetricsFrame = FrameOf<'metrics'>;
/** The frame `check_tokens`, which asks for facts about tokens. */
export type CheckTokensFrame = FrameOf<'check_tokens'>;
/** The frame `follow_holds`, which asks for the holds, now and after each change. */
export type FollowHoldsFrame = FrameOf<'follow_holds'>;
/** The frame `holds_known`, which confirms holds. */
export type HoldsKnownFrame = FrameOf<'holds_known'>;
/** The frame `serve_lanes`, which says where an orchestrator takes calls on lanes. */
export type ServeLanesFrame = FrameOf<'serve_lanes'>;
/** The frame `open_lane`, which asks for a lane to an orchestrator. */
export type OpenLaneFrame = FrameOf<'open_lane'>;
/** The frame `lane_calls`, which reports calls of lanes. */
export type LaneCallsFrame = FrameOf<'lane_calls'>;
/** The frame `admin`, which asks for an administrative operation. */
export type AdminFrame = FrameOf<'admin'>;

/** Refuses a value that nests too deeply to be written as JSON, in the same way as one that is too long. */
function isShortJson(value: unknown): boolean {
  try {
    return value !== undefined && JSON.stringify(value).length <= frameLimits.statusLength;
  } catch {
    return false;
  }
}
