import { z } from 'zod';
import { agentIdSchema, idSchema, roleSchema } from '../names/name-schemas.ts';
import { type ErrorCode, errorCodes } from './error-codes.ts';
import { frameLimits } from './frame-limits.ts';

/** The kinds of entries of the audit log. Each has a chain and a budget of its own. */
export const auditEntryKinds = ['change', 'call', 'read', 'connect', 'refusal', 'loss'] as const;

/** A kind of entries of the audit log. */
export type AuditEntryKind = (typeof auditEntryKinds)[number];

interface AuditCode {
  kind: AuditEntryKind;
  /** True if the entries of one token, agent, code and name within a minute are counted in one. */
  merged?: true;
  /** True if an orchestrator reports it with the frame `audit`. */
  reported?: true;
  meaning: string;
}

const codes = {
  broker_started: { kind: 'change', meaning: 'The broker started, with these rules for roles.' },
  auth_applied: {
    kind: 'change',
    meaning: 'The broker took over other rules for tokens of an identity provider, or none.',
  },
  token_issued: { kind: 'change', meaning: 'A token was issued.' },
  token_revoked: { kind: 'change', meaning: 'A token and its child tokens were revoked.' },
  thread_forgotten: { kind: 'change', meaning: 'The kept bodies of a thread were forgotten.' },
  dead_letters_retried: { kind: 'change', meaning: 'Dead letters were stored again.' },
  dead_letters_dropped: { kind: 'change', meaning: 'Dead letters were dropped.' },
  work_stopped: {
    kind: 'change',
    meaning: 'An operator stopped the work of an agent on a message, which is a dead letter now.',
  },
  request_answered: {
    kind: 'change',
    meaning: 'An operator answered what an agent had asked an operator; `name` is the inbox.',
  },
  clock_accepted: { kind: 'change', meaning: 'A leap of the clock was accepted.' },
  hold_placed: { kind: 'change', meaning: 'An operator placed a hold; `detail` says on what, and why.' },
  hold_released: { kind: 'change', meaning: 'An operator released a hold.' },
  hold_ended: { kind: 'change', meaning: 'A hold ended by itself, at its time.' },
  backup_began: { kind: 'change', meaning: 'A backup was begun.' },
  backup_restored: {
    kind: 'change',
    meaning:
      'The data was restored to an earlier moment; `detail` says how many tokens were dropped, or how a database showed it.',
  },
  config_refused: {
    kind: 'change',
    reported: true,
    meaning: 'A changed configuration has mistakes, and what was in force before stays; `detail` says which.',
  },
  config_applied: {
    kind: 'change',
    reported: true,
    meaning: 'An orchestrator started with these rules, or took over a changed configuration.',
  },
  server_changed: {
    kind: 'change',
    reported: true,
    meaning:
      'An operator reloaded, stopped or started a server, or the configuration added, changed or removed one.',
  },
  server_ejected: {
    kind: 'change',
    reported: true,
    meaning:
      'A server crashed or failed to start too often, its command is missing, or it is a worker of Signalbox; it is not started until its reload.',
  },
  server_restored: {
    kind: 'change',
    reported: true,
    meaning: 'A server that was ejected or needed a sign-in is ready again.',
  },
  sign_in_needed: {
    kind: 'change',
    reported: true,
    meaning: 'A server does not run, because somebody has to sign in.',
  },
  sign_in_accepted: {
    kind: 'change',
    reported: true,
    meaning: 'A server took its sign-in, for the first time since a start or a reload.',
  },
  hints_withheld: {
    kind: 'change',
    reported: true,
    meaning: 'Hosted servers declare hints that grant more than before, and these are not honoured.',
  },
  definitions_pinned: {
    kind: 'change',
    reported: true,
    meaning: 'The definitions of a server with `definitions: pin` were seen for the first time, and pinned.',
  },
  definition_changed: {
    kind: 'change',
    reported: true,
    meaning: 'A pinned server lists definitions that are not the pinned ones; they are withheld.',
  },
  definitions_accepted: {
    kind: 'change',
    reported: true,
    meaning: 'An operator accepted definitions that were withheld; `detail` says which, with their hashes.',
  },
  scheduled_cancelled: {
    kind: 'change',
    meaning: 'An operator cancelled a message of another agent that was not due.',
  },
  call_cancelled: {
    kind: 'change',
    reported: true,
    meaning: 'An operator cancelled a tool call; `detail` says of whom, in which state it was, and why.',
  },
  approval_decided: {
    kind: 'change',
    reported: true,
    meaning:
      'A tool call that waited for a decision was approved or denied, or nobody decided in time; `detail` says who decided what.',
  },
  standing_approval_revoked: {
    kind: 'change',
    reported: true,
    meaning: 'Somebody revoked a standing approval, or it ended with the token of the person who gave it.',
  },
  permission_allowed: {
    kind: 'call',
    reported: true,
    meaning:
      'An agent’s CLI was allowed a use of a tool of its own without a question to a person, as the command that serves the agent says; `detail` says in which turn.',
  },
  call_proposed: {
    kind: 'call',
    reported: true,
    meaning: 'A tool call waits for a decision; `rule` says why, `detail` which approval.',
  },
  call_started: {
    kind: 'call',
    reported: true,
    meaning: 'A tool call that was approved is made now.',
  },
  call_answered: {
    kind: 'call',
    reported: true,
    meaning: 'The reply to a tool call that waited for a decision is stored for its caller, or was refused.',
  },
  call_ended: { kind: 'call', reported: true, meaning: 'A tool call ran, or may have run.' },
  call_refused: {
    kind: 'refusal',
    merged: true,
    reported: true,
    meaning: 'A tool call was not run, or an operation of operators was refused to others.',
  },
  bad_subprotocol: { kind: 'refusal', merged: true, meaning: 'A WebSocket asked for another subprotocol.' },
  not_found: { kind: 'refusal', merged: true, meaning: 'A WebSocket was asked for at another path than /.' },
  forbidden_host: { kind: 'refusal', merged: true, meaning: 'A request named another host.' },
  forbidden_origin: {
    kind: 'refusal',
    merged: true,
    meaning: 'A page of another origin asked for a WebSocket.',
  },
  connected: { kind: 'connect', merged: true, meaning: 'A connection said `hello`.' },
  tail_followed: { kind: 'read', merged: true, meaning: 'Messages were followed.' },
  history_read: { kind: 'read', merged: true, meaning: 'The metadata of messages was listed.' },
  threads_read: {
    kind: 'read',
    merged: true,
    meaning:
      'Threads or texts of messages were listed, searched or read, with bodies if the caller may read them.',
  },
  audit_read: { kind: 'read', merged: true, meaning: 'The audit log was read.' },
  dead_letters_listed: { kind: 'read', merged: true, meaning: 'Dead letters were listed.' },
  dead_letter_read: { kind: 'read', merged: true, meaning: 'A dead letter was read with its body.' },
  inbox_read: {
    kind: 'read',
    merged: true,
    meaning: 'Messages in the inbox of another agent were read with their bodies.',
  },
  tokens_listed: { kind: 'read', merged: true, meaning: 'Tokens were listed.' },
  calls_read: {
    kind: 'read',
    merged: true,
    reported: true,
    meaning: 'An operator listed tool calls or servers, or read the result of a call.',
  },
  dead_letter_expired: {
    kind: 'loss',
    merged: true,
    meaning: 'A dead letter was dropped to keep within the bounds.',
  },
  damage_found: { kind: 'loss', meaning: 'Something on the disk was damaged.' },
  audit_events_lost: { kind: 'loss', reported: true, meaning: 'Events could not be recorded.' },
} as const satisfies Record<string, AuditCode>;

/** A code of the audit log that is not an error code. */
export type AuditEventCode = keyof typeof codes;

/** Every code of the audit log. The entry of a refused frame has the code of the error. */
export const auditCodes: Readonly<Record<AuditEventCode | ErrorCode, AuditCode>> = {
  ...codes,
  ...(Object.fromEntries(
    Object.entries(errorCodes).map(([code, { meaning }]) => [
      code,
      { kind: 'refusal', merged: true, meaning },
    ]),
  ) as Record<ErrorCode, AuditCode>),
};

type ReportedCode = {
  [C in AuditEventCode]: (typeof codes)[C] extends { reported: true } ? C : never;
}[AuditEventCode];

const reportedCodes = Object.entries<AuditCode>(codes).flatMap(([code, { reported }]) =>
  reported ? [code as ReportedCode] : [],
);

const ms = z.number().min(0).optional();
const bytes = z.int().min(0).optional();

/** The fields that only entries about tool calls and servers have. */
const callFields = {
  server: z.string().max(256).optional(),
  host: z
    .string()
    .max(64)
    .optional()
    .describe('The label of the orchestrator that runs the server, if that is another one.'),
  request_id: idSchema.optional(),
  thread: idSchema.optional().describe('The thread of its request, if that is not one of its own.'),
  outcome: z
    .string()
    .max(64)
    .optional()
    .describe('`ok`, `tool_error`, `input_required`, or a code of section 10.'),
  rule: z
    .string()
    .max(frameLimits.auditDetailLength)
    .optional()
    .describe('The rule of the configuration that refused it.'),
  waited_ms: ms.describe('How long it waited for its turn.'),
  took_ms: ms.describe('How long it ran.'),
  request_bytes: bytes,
  reply_bytes: bytes,
};

/** Describes an event that an orchestrator reports. */
export const auditReportSchema = z
  .object({
    code: z.enum(reportedCodes as [ReportedCode, ...ReportedCode[]]).describe('A code of section 9.'),
    ago_ms: z
      .number()
      .min(0)
      .max(frameLimits.auditAgoMs)
      .optional()
      .describe('How long before `sent_at` it happened. Default: 0.'),
    count: z.int().min(1).optional().describe('How often it happened. Default: 1.'),
    agent: agentIdSchema
      .optional()
      .describe('The agent that did it, or tried to. Default: the orchestrator.'),
    role: roleSchema.optional(),
    name: z.string().max(256).optional().describe('The tool, or what else it is about.'),
    detail: z
      .string()
      .max(frameLimits.auditDetailLength)
      .refine((text) => !/[\p{Cc}\p{Bidi_Control}]/u.test(text), {
        error: 'must be one line without control characters',
      })
      .describe('One line without control characters and without secrets.'),
    ...callFields,
  })
  .meta({ id: 'AuditReport', title: 'audit report', description: 'An event for the audit log.' });

/** An event that an orchestrator reports for the audit log. */
export type AuditReport = z.infer<typeof auditReportSchema>;

/** Describes the JSON text of an entry of the audit log. Times are epoch milliseconds of the broker's clock. */
export const auditEntrySchema = z
  .looseObject({
    number: z.int().min(1).describe('It grows from row to row, over all kinds.'),
    kind: z.enum(auditEntryKinds),
    at: z.number().describe('When it happened last.'),
    recorded_at: z.number().optional().describe('When it was written, if not at the same time.'),
    first_at: z.number().optional().describe('When it happened first, if it was counted.'),
    count: z.int().min(1).default(1).describe('How often it happened.'),
    code: z.string().describe('A code of the table above.'),
    token_id: z.string().optional(),
    agent: z.string().optional(),
    role: z.string().optional(),
    name: z.string().optional().describe('The tool, the inbox, the field or what else it is about.'),
    detail: z.string().default(''),
    reported_by: z.string().optional().describe('The orchestrator that reported it.'),
    ...callFields,
    request_id: z.string().optional(),
    thread: z.string().optional(),
    previous: z.string().describe('The hash of the row of this kind before it.'),
  })
  .meta({ title: 'audit entry', description: 'The JSON text in a row of the audit log.' });

/** An entry of the audit log. */
export type AuditEntry = z.infer<typeof auditEntrySchema>;
