import { z } from 'zod';
import { holdSchema } from './admin/holds.ts';
import { frameSchema } from './frame-schema.ts';
import { journalBindingSchema } from './journal.ts';
import { type LimitEntry, type LimitOverrides, limitTable } from './limits.ts';
import { messageHeaderFields, senderSchema } from './message.ts';

const requestId = z.string();

/** Accepts the limits of any broker. A newer broker may have limits that are unknown here, and an older one may lack some. */
const limitsSchema: z.ZodType<LimitOverrides> = z
  .looseObject(
    Object.fromEntries(
      Object.entries<Record<string, LimitEntry>>(limitTable).map(([group, entries]) => [
        group,
        z
          .object(
            Object.fromEntries(
              Object.entries(entries).map(([name, { meaning }]) => [
                name,
                z.number().optional().describe(meaning),
              ]),
            ),
          )
          .catchall(z.number())
          .optional(),
      ]),
    ),
  )
  .describe("The limits that hold for the caller's role: section 11.");

const connectedAgentSchema = z
  .object({
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    connected_at: z.number(),
    status: z.unknown().optional(),
    inbox: z.object({ unread: z.int().min(0), held: z.int().min(0).optional() }).optional(),
    broker: z
      .string()
      .optional()
      .describe('The name of the broker that it is connected to. Absent if only one uses the store.'),
    lane: z
      .literal(true)
      .optional()
      .describe('Its tool calls go directly to an orchestrator on its machine.'),
    on_hold: z
      .string()
      .optional()
      .describe('Who holds the agent, since when and why. Absent if nobody does.'),
  })
  .meta({ id: 'ConnectedAgent', title: 'connected agent', description: 'One connection of an agent.' });

const recipientStateSchema = z
  .object({
    reads: z.boolean().describe('Whether one of its connections takes the messages of its own inbox.'),
    ever_connected: z.boolean(),
    offline_since: z
      .number()
      .optional()
      .describe(
        'Since when it is not connected to this broker, in epoch milliseconds. Absent if it is connected, or was not since the start.',
      ),
    on_hold: z
      .string()
      .optional()
      .describe('Who holds the agent, since when and why. Absent if nobody does.'),
    failed: z
      .object({ at: z.number(), reason: z.string() })
      .optional()
      .describe('When and how its program ended with a failure, if it has not come back.'),
    unread: z
      .int()
      .min(0)
      .optional()
      .describe('The messages that wait in its own inbox. Only for the agent itself and operators.'),
  })
  .meta({
    id: 'RecipientState',
    title: 'recipient state',
    description:
      'Why a message to the agent of `list_connected` may wait. Absent for roles that may not list all agents.',
  });

const refusedMemberSchema = z
  .object({ agent: z.string(), code: z.string().describe('A code of section 8.') })
  .meta({
    id: 'RefusedMember',
    title: 'refused member',
    description: 'A member of a group for which a message was not stored.',
  });

const peekedMessageSchema = z
  .object({
    ...messageHeaderFields,
    working: z
      .literal(true)
      .optional()
      .describe(
        'The holder of the inbox has handed it to a handler or a reader (`working`). The broker forgets that with the lease.',
      ),
    body: z.string().optional(),
  })
  .meta({
    id: 'PeekedMessage',
    title: 'peeked message',
    description: 'The header of a message, and its body as text.',
  });

const scheduledMessageSchema = z
  .object({
    id: z.string(),
    from: senderSchema,
    to: z.string(),
    kind: z.string(),
    correlation_id: z.string().optional(),
    group: messageHeaderFields.group,
    group_key: messageHeaderFields.group_key,
    thread: z.string().optional().describe('Absent: its own id.'),
    sent_at: z.number().describe('When it was stored.'),
    due_at: z.number().describe('When it is due. It is its `created_at` from then on.'),
    due_in_ms: z.number().describe('The time until then by the broker’s clock; 0 if it is due now.'),
    size: z.int().describe('Bytes of its body.'),
  })
  .meta({
    id: 'ScheduledMessage',
    title: 'scheduled message',
    description: 'A message that is not due. Times are of the broker’s clock.',
  });

/** The schema of every frame that the broker sends, by its `type`, without its body line. */
export const brokerFrameSchemas = {
  welcome: frameSchema('welcome', 'Answers `hello`, with the identity that the token proves.', {
    broker_id: z.string().describe('Names the store. Brokers that share one have the same.'),
    broker: z
      .string()
      .optional()
      .describe(
        'The name of this broker among those that share the store. Each of them counts rates and connections for itself. Absent if only one uses the store.',
      ),
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    token: z
      .object({
        created_at: z.number(),
        expires_at: z.number().optional().describe('Absent if it never expires.'),
      })
      .optional()
      .describe('The times of the token that was used.'),
    limits: limitsSchema,
    heartbeat_ms: z.number().describe('The longest time between two pings.'),
    receipt_means: z.string().describe('`fsynced`, `written` or `replicated`.'),
    dedupe_window_ms: z
      .number()
      .describe('A repeat is recognised for this long after the message was settled.'),
  }),

  delivered: frameSchema(
    'delivered',
    'The receipt of a message. It follows the commit that holds the message.',
    {
      id: z.string(),
      duplicate: z.boolean().optional().describe('The message was stored before.'),
      no_consumer: z
        .literal(true)
        .optional()
        .describe('Nobody holds the inbox now, so that the message waits. Told of final replies only.'),
      members: z
        .int()
        .optional()
        .describe(
          'For `all`: the members for which it was stored, also in the receipt of a repeat. Else 0, if the group has no member now.',
        ),
      refused: z
        .array(refusedMemberSchema)
        .optional()
        .describe('With `partial`: the members for which it was not stored. Absent if there are none.'),
      ttl_ms: z
        .number()
        .optional()
        .describe('The lifetime, if it is the longest that the broker gives. A longer one was cut to it.'),
    },
  ),

  message: frameSchema(
    'message',
    'Pushes a message, with its body, to the holder of its inbox.',
    messageHeaderFields,
  ),

  subscribed: frameSchema('subscribed', 'Answers `subscribe`.', {
    request_id: requestId,
    lease: z.string(),
    pending: z.number().describe('Messages that wait in the inbox.'),
    head_seq: z.number().describe('The highest sequence number of the inbox.'),
    journal: journalBindingSchema
      .optional()
      .describe('The journal to which the inbox is bound now. Absent if the subscriber named none.'),
  }),

  ack_result: frameSchema('ack_result', 'Answers an `ack` or `nack` that asked for it, after the commit.', {
    request_id: requestId,
    accepted: z.array(z.number()),
    rejected: z.array(z.number()).describe('Not, or no longer, held by this connection.'),
  }),

  cancel: frameSchema(
    'cancel',
    'Tells the holder of a request that its sender cancelled it, or the holder of any message that an operator stopped the work on it.',
    {
      correlation_id: z.string().describe('The id of the request, or of the message.'),
      from: senderSchema,
      stopped: z
        .string()
        .optional()
        .describe(
          'Who stopped the work: `stopped by NAME`. The message is a dead letter with this reason. Absent if the sender cancelled.',
        ),
    },
  ),

  cancel_result: frameSchema(
    'cancel_result',
    'Answers `cancel`. The cancellation is on disk then. Requests are not counted: each still gets its own end.',
    {
      request_id: requestId,
      scheduled: z
        .int()
        .describe('Messages that were not due and are cancelled: several if copies went to a group.'),
    },
  ),

  scheduled: frameSchema(
    'scheduled',
    'Answers `list_scheduled`, the first due message first. A page may hold fewer messages than its limit, and have a cursor.',
    {
      request_id: requestId,
      messages: z.array(scheduledMessageSchema),
      cursor: z.string().optional().describe('Asks for the next page. Absent on the last one.'),
    },
  ),

  connected: frameSchema('connected', 'Answers `list_connected`, with one entry per connection.', {
    request_id: requestId,
    agents: z.array(connectedAgentSchema),
    recipient: recipientStateSchema.optional(),
    cursor: z.string().optional().describe('Asks for the next page. Absent on the last one.'),
  }),

  peeked: frameSchema('peeked', 'Answers `peek`: at most 1 MiB of bodies, but at least one message.', {
    request_id: requestId,
    messages: z.array(peekedMessageSchema),
    held_back: z
      .int()
      .optional()
      .describe(
        'How many messages of the inbox wait until a hold ends: one on its agent, or on the caller that reads a group, of which only this page is counted. Answers wait for no release; those behind the first 1,000 messages, or the first MiB, are counted all the same. Absent if none does.',
      ),
  }),

  found: frameSchema('found', 'Answers `find`. The states of settled requests are durable.', {
    request_id: requestId,
    states: z
      .array(z.string())
      .describe(
        'The state of each request, in the order of the question. `open`: not settled. `orphaned`: open, and nobody holds the inbox of its sender, if `with_sender` was asked. `settled`: never pushed again. `answered`: settled, and the reply of this agent with the id `reply` is stored. `ambiguous`: several agents have sent requests with this id, and the question names none. `unknown`: not in the store any more, or never.',
      ),
  }),

  audited: frameSchema(
    'audited',
    'Answers `audit`. The entries are written, and survive the end of the process.',
    {
      request_id: requestId,
    },
  ),

  admin_result: frameSchema('admin_result', 'Answers `admin`.', {
    request_id: requestId,
    result: z.unknown(),
  }),

  tokens_checked: frameSchema('tokens_checked', 'Answers `check_tokens`, in the order of the question.', {
    request_id: requestId,
    minters: z
      .array(z.string())
      .describe('The id of the minting token that issued a valid token of each agent; empty if none did.'),
    decide: z
      .array(z.boolean())
      .describe('Whether each token is valid and decides on the tool calls of its role.'),
  }),

  holds: frameSchema('holds', 'Tells an orchestrator all holds that stand, in place of those before.', {
    version: z.int().describe('A number that grows with each change; `holds_known` names it.'),
    holds: z.array(holdSchema),
    approvers: z
      .array(z.string())
      .describe('Agents that are never held, because they have tokens of operators or approvers.'),
  }),

  rights_changed: frameSchema(
    'rights_changed',
    'Tells a connection that follows rights that a hold has begun or ended, or that an agent has no valid token any more.',
    {
      agent: z
        .string()
        .optional()
        .describe(
          'The agent that it concerns. Absent if it may concern any: a hold on a role, on tools or on everything.',
        ),
    },
  ),

  lane_opened: frameSchema('lane_opened', 'Answers `open_lane`.', {
    request_id: requestId,
    lane: z
      .object({
        id: z.string(),
        path: z.string().describe('The Unix socket on which the orchestrator listens.'),
        ticket: z.string().describe('The secret that the worker shows there, once.'),
        proof: z.string().describe('The secret by which the orchestrator answers before anything else.'),
      })
      .optional()
      .describe('Absent if that orchestrator takes no calls on lanes now: they go through the broker.'),
  }),

  lane: frameSchema('lane', 'Tells an orchestrator of a lane that may be opened to it.', {
    lane: z.string(),
    ticket: z.string(),
    proof: z.string(),
    from: senderSchema,
    limits: z
      .object({ messages: z.number(), burst: z.number(), bytes: z.number(), ttl_ms: z.number() })
      .describe(
        'The worker’s limits `rates.messages`, `rates.messagesBurst`, `message.bytes` and `message.ttlMs`.',
      ),
  }),

  lanes: frameSchema(
    'lanes',
    'Tells an orchestrator each second that its lanes stand, and at once which of them have ended.',
    {
      ended: z
        .array(z.object({ lane: z.string(), cancels: z.boolean() }))
        .describe(
          '`cancels`: the token is no longer valid, so that calls which have not begun do not begin.',
        ),
      watched: z.boolean().describe('Somebody follows the traffic: `lane_calls` comes within 100 ms.'),
    },
  ),

  lease_lost: frameSchema('lease_lost', 'Tells a connection that it no longer holds its inbox.', {
    reason: z
      .string()
      .describe(
        '`taken_over`: a newer `subscribe` won. `forbidden`: its agent is no longer a member of the group.',
      ),
  }),

  going_away: frameSchema('going_away', 'Announces that the broker shuts down.', {
    reconnect_after_ms: z.number(),
  }),

  error: frameSchema('error', 'Refuses a frame.', {
    code: z.string().describe('A code of section 8.'),
    message: z.string().describe('A text for people. Switch on `code`, never on it.'),
    field: z.string().optional().describe('The field that was refused.'),
    reply_to: z.string().optional().describe('The address that asked, if a reply goes to another.'),
    id: z.string().optional().describe('Copied from the refused frame.'),
    request_id: z.string().optional().describe('Copied from the refused frame.'),
    retryable: z.boolean().describe('The same frame may succeed later.'),
    retry_after_ms: z.number().optional(),
  }),
} as const;

type FrameOf<T extends keyof typeof brokerFrameSchemas> = z.infer<(typeof brokerFrameSchemas)[T]>;

/** A frame that the broker sends, without its body line. */
export type BrokerFrame = FrameOf<keyof typeof brokerFrameSchemas>;
/** The frame `welcome`, which accepts a `hello`. */
export type WelcomeFrame = FrameOf<'welcome'>;
/** The frame `message`, which pushes a message to the holder of its inbox. */
export type MessageFrame = FrameOf<'message'>;
/** The frame `subscribed`, which grants a lease. */
export type SubscribedFrame = FrameOf<'subscribed'>;
/** The frame `cancel` as the broker sends it to the holder of a request. A client's own `cancel` is a `CancelFrame`. */
export type CancelNotice = FrameOf<'cancel'>;
/** The frame `holds`, which tells an orchestrator all current holds. */
export type HoldsFrame = FrameOf<'holds'>;
/** A message that is not due, as `list_scheduled` shows it. Times are epoch milliseconds of the broker's clock. */
export type ScheduledMessageInfo = z.infer<typeof scheduledMessageSchema>;
/** The frame `delivered`, the receipt of a message. */
export type DeliveredFrame = FrameOf<'delivered'>;
/** A member of a group for which a message was not stored. */
export type RefusedMember = z.infer<typeof refusedMemberSchema>;
/** The frame `lane_opened`, which answers `open_lane`. */
export type LaneOpenedFrame = FrameOf<'lane_opened'>;
/** The frame `lane`, which tells an orchestrator of a lane. */
export type LaneGrantFrame = FrameOf<'lane'>;
/** The frame `lanes`, by which lanes stand or end. */
export type LanesFrame = FrameOf<'lanes'>;
/** The frame `error`, which refuses a frame. */
export type ErrorFrame = FrameOf<'error'>;

/**
 * One connection as `list_connected` reports it. `connected_at` is in epoch milliseconds of the broker's clock. `inbox` counts the messages
 * that wait in the agent's own inbox, and those of them that a consumer has and has not settled yet.
 */
export type ConnectedAgent = z.infer<typeof connectedAgentSchema>;

/** Why a message to an agent may wait, as `connected` reports it. Times are epoch milliseconds of the broker's clock. */
export type RecipientState = z.infer<typeof recipientStateSchema>;

/** The states of requests in the frame `found`. */
export const foundStates = ['open', 'orphaned', 'settled', 'answered', 'ambiguous', 'unknown'] as const;
/** The state of a request in the frame `found`. */
export type FoundState = (typeof foundStates)[number];
