import {
  listApprovals,
  listDeadLetters,
  listHolds,
  listSchedules,
  listStandingApprovals,
  listTokens,
  listWebhooks,
  queryOrchestrator,
  rankings,
  rankTools,
  readApproval,
  readAudit,
  readCall,
  readCalls,
  readCharts,
  readDeadLetter,
  readStatus,
  readThread,
} from '@signalbox/client/operator';
import { readFleet, requireOrchestrator, summariesOf } from '@signalbox/client/operator/internal';
import { bodyWithoutSecrets, shownExcerpt } from '@signalbox/mcp-host/redaction';
import { isPermitted, operationPermissions, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import { readAttention } from '../attention/read-attention.ts';
import { type ApiContext, type ApiOperation, address, operation } from './operation.ts';
import { isMissing, orMissing } from './or-missing.ts';
import { searchThreads } from './threads.ts';
import { searchTimeline, timelineQuery } from './timeline.ts';

const { admin, request, frame } = operationPermissions;

const none = z.object({});
const text = z.string().max(256);
const count = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual);

/**
 * The longest time that a read waits for the orchestrator, in milliseconds: a page that says what is unknown is worth more than one that
 * waits.
 */
const answerTime = { timeoutMs: 3000 };

/** The reads of the API by path. Each shows the same as a command of the CLI, from the same source. */
export const reads: Readonly<Record<string, ApiOperation>> = {
  attention: operation({
    method: 'GET',
    needs: admin.stats,
    meaning: 'What needs a person, the most urgent first, and what was looked at.',
    params: none,
    run: readAttention,
  }),
  status: operation({
    method: 'GET',
    needs: admin.stats,
    meaning: 'What `signalbox status` shows: broker, clock, agents, orchestrator and servers.',
    params: none,
    run: ({ client, orchestrator }) => readStatus(client, orchestrator),
  }),
  agents: operation({
    method: 'GET',
    needs: admin.waiting,
    meaning:
      'What `signalbox agents` shows: connected agents, and groups and others with mail. `calls` are the running ones, and `budgets` those in use, if the orchestrator answers. Operators get the running `turns` of served agents.',
    params: none,
    run: async ({ client, orchestrator }) => {
      const fleet = summariesOf(await readFleet(client));
      const found = await orMissing(readCalls(client, orchestrator, { running: true }));
      if (isMissing(found)) return { ...fleet, calls: found };
      return { ...fleet, calls: found.calls, budgets: found.budgets };
    },
  }),
  approvals: operation({
    method: 'GET',
    needs: request.approvals,
    meaning:
      'What `signalbox approvals` shows, the newest first, with the beginning of long arguments; with `all`, also those that have ended. `cursor` leads to those behind. Observers are shown no arguments.',
    params: z.object({
      all: z.stringbool().default(false),
      cursor: text.optional(),
      limit: count(512, 512),
    }),
    run: async (context, { cursor, ...query }) => {
      const { client, orchestrator } = context;
      const wanted = { ...query, brief: true, ...(cursor !== undefined && { cursor }) };
      const found = await orMissing(
        askIfThere(context, () => listApprovals(client, orchestrator, wanted, answerTime)),
      );
      return isMissing(found) ? { approvals: found, more: false } : found;
    },
  }),
  'approvals/show': operation({
    method: 'GET',
    needs: request.approvals,
    meaning: 'What `signalbox approvals show` shows: one with all its arguments, also if it has ended.',
    params: z.object({ id: text.min(1) }),
    run: async ({ client, orchestrator }, { id }) => ({
      approval: await readApproval(client, orchestrator, id, answerTime),
    }),
  }),
  'approvals/standing': operation({
    method: 'GET',
    needs: request.standing_approvals,
    meaning: 'What `signalbox approvals standing` shows.',
    params: none,
    run: async (context) => ({
      standing: await orMissing(
        askIfThere(context, () => listStandingApprovals(context.client, context.orchestrator, answerTime)),
      ),
    }),
  }),
  holds: operation({
    method: 'GET',
    needs: admin.holds,
    meaning: 'What `signalbox holds` shows: who holds what, since when and why.',
    params: none,
    run: async ({ client }) => ({ holds: await listHolds(client) }),
  }),
  timeline: operation({
    method: 'GET',
    needs: admin.history,
    meaning: 'Messages and tool calls by request, the newest first. `since` is in epoch milliseconds.',
    params: timelineQuery,
    run: ({ client, orchestrator, now }, query) => searchTimeline(client, orchestrator, query, now()),
  }),
  threads: operation({
    method: 'GET',
    needs: admin.threads,
    meaning:
      'What `signalbox thread` shows: threads whose bodies are kept, the one with the newest message first. `tool` and `outcome` are parts of what the timeline shows, `searched_since` a time. Observers are shown no text.',
    params: z.object({
      agent: text.optional(),
      tool: text.optional(),
      outcome: text.optional(),
      search: text.optional(),
      cursor: z.coerce.number().int().min(1).optional(),
      limit: count(200, 50),
    }),
    run: async (context, query) => {
      const page = await searchThreads(context, query);
      const threads = page.threads.map((one) => {
        const { text: said, ...newest } = one.newest;
        return {
          ...one,
          newest: { ...newest, ...(said !== undefined && { text: shownExcerpt(said) }) },
        };
      });
      return { ...page, threads };
    },
  }),
  'threads/show': operation({
    method: 'GET',
    needs: admin.thread,
    meaning:
      'What `signalbox thread ID` shows: the messages of a thread, its tool calls and their approvals. What has the form of a credential is left out.',
    params: z.object({
      thread: text.min(1),
      after: z.coerce.number().int().min(0).optional(),
      limit: count(500, 200),
    }),
    run: async ({ client, orchestrator }, query) => {
      const transcript = await readThread(client, orchestrator, query);
      const entries = transcript.entries.map((entry) =>
        entry.what === 'message' && entry.body !== undefined
          ? { ...entry, body: bodyWithoutSecrets(entry.body) }
          : entry,
      );
      return { ...transcript, entries };
    },
  }),
  'messages/show': operation({
    method: 'GET',
    needs: frame.peek,
    meaning:
      'What `signalbox inbox show` shows: one message that waits, without what has the form of a credential.',
    params: z.object({ inbox: address, seq: z.coerce.number().int().min(1) }),
    run: async ({ client }, { inbox, seq }) => {
      const [message] = await client.peek({ address: inbox, after: seq - 1, limit: 1 });
      if (message?.seq !== seq) {
        const gone = `message ${seq} does not wait in the inbox '${inbox}' any more: it was answered, withdrawn or taken, or its time is over`;
        throw new SignalboxError('unknown_message', gone);
      }
      const { body } = message;
      return { ...message, ...(body !== undefined && { body: bodyWithoutSecrets(body) }) };
    },
  }),
  calls: operation({
    method: 'GET',
    needs: request.calls,
    meaning:
      'What `signalbox tools calls` shows, if the orchestrator answers. Before `known_since`, refused calls that are alike may be one, with a `count`.',
    params: z.object({
      agent: text.optional(),
      tool: text.optional(),
      outcome: text.optional(),
      since: z.coerce.number().int().min(0).optional(),
      limit: count(1000, 500),
    }),
    run: async ({ client, orchestrator }, query) => {
      const found = await orMissing(readCalls(client, orchestrator, query));
      return isMissing(found) ? { calls: found } : found;
    },
  }),
  'calls/show': operation({
    method: 'GET',
    needs: frame.status,
    meaning:
      'What `signalbox tools result` shows: the state of a call of any agent, with its reply if that is kept.',
    params: z.object({ agent: text.min(1), id: text.min(1) }),
    run: ({ client, orchestrator }, { agent, id }) =>
      readCall(client, orchestrator, { agent, requestId: id }),
  }),
  'dead-letters': operation({
    method: 'GET',
    needs: admin.dead_list,
    meaning: 'What `signalbox dead list` shows, from a sequence number on, without bodies.',
    params: z.object({
      after: z.coerce.number().int().min(0).optional(),
      inbox: text.optional(),
      limit: count(1000, 1000),
    }),
    run: ({ client }, { after, inbox, limit }) =>
      listDeadLetters(client, {
        limit,
        ...(after !== undefined && { after }),
        ...(inbox !== undefined && { inbox }),
      }),
  }),
  'dead-letters/show': operation({
    method: 'GET',
    needs: admin.dead_show,
    meaning: 'One dead letter with its body.',
    params: z.object({ seq: z.coerce.number().int().min(1) }),
    run: ({ client }, { seq }) => readDeadLetter(client, seq),
  }),
  explain: operation({
    method: 'GET',
    needs: request.explain,
    meaning:
      'What `signalbox tools explain` shows: whether a role may call a tool, perhaps with certain arguments, and by which rule.',
    params: z.object({
      role: text.min(1),
      tool: text.min(1),
      arguments: z.string().max(16_384).optional(),
    }),
    run: ({ client, orchestrator }, params) =>
      queryOrchestrator(client, orchestrator, { op: 'explain', ...params }),
  }),
  matrix: operation({
    method: 'GET',
    needs: request.matrix,
    meaning:
      'What `signalbox tools matrix` shows: which role may call which tool, and for which a person is asked.',
    params: none,
    run: async (context) => ({
      matrix: await orMissing(
        askIfThere(context, () =>
          queryOrchestrator(context.client, context.orchestrator, { op: 'matrix' }, answerTime),
        ),
      ),
    }),
  }),
  charts: operation({
    method: 'GET',
    needs: admin.samples,
    meaning:
      'How `system`, `agents`, `servers`, one `server` or one `tool` did in the last so many minutes, at most a day: lines over time, from the samples of broker or orchestrator. `server_rows` and `tool_rows` are the calls of each server or tool.',
    params: z.object({
      of: z.enum(['system', 'agents', 'servers', 'server', 'tool', 'server_rows', 'tool_rows']),
      server: text.default(''),
      tool: text.default(''),
      minutes: count(1440, 60),
    }),
    run: async (context, { minutes, ...subject }) => {
      const { client, orchestrator } = context;
      const read = () => readCharts(client, orchestrator, subject, minutes * 60_000, answerTime);
      const isOfBroker = subject.of === 'system' || subject.of === 'agents';
      return { charts: await (isOfBroker ? read() : orMissing(askIfThere(context, read))) };
    },
  }),
  'tools/top': operation({
    method: 'GET',
    needs: request.samples,
    meaning:
      'What `signalbox tools top` shows: the tools that were called in the last so many minutes, the first by calls, errors, p95 or bytes of replies first.',
    params: z.object({ by: z.enum(rankings).default('calls'), minutes: count(1440, 60) }),
    run: async (context, { by, minutes }) => {
      const { client, orchestrator } = context;
      const ranking = { lastMs: minutes * 60_000, by };
      return {
        ranking: await orMissing(
          askIfThere(context, () => rankTools(client, orchestrator, ranking, answerTime)),
        ),
      };
    },
  }),
  webhooks: operation({
    method: 'GET',
    needs: admin.hooks,
    meaning: 'What `signalbox hooks list` shows.',
    params: none,
    run: async ({ client }) => ({ hooks: await listWebhooks(client) }),
  }),
  schedules: operation({
    method: 'GET',
    needs: admin.schedules,
    meaning: 'What `signalbox schedules list` shows.',
    params: none,
    run: async ({ client }) => ({ schedules: await listSchedules(client) }),
  }),
  backup: operation({
    method: 'GET',
    needs: admin.backup_wait,
    meaning: 'The backup that this sign-in made last, or makes: how much is copied, or what came of it.',
    params: none,
    run: async ({ backup }) => backup.state,
  }),
  tokens: operation({
    method: 'GET',
    needs: admin.token_list,
    meaning:
      'What `signalbox token list` shows. Sign-ins to the dashboard are marked as `sign_in`. `roles` are those that the configuration lists.',
    params: none,
    run: async ({ client, listed }) => ({
      tokens: await listTokens(client),
      roles: Object.keys(listed?.().roles ?? {}),
    }),
  }),
  audit: operation({
    method: 'GET',
    needs: admin.audit,
    meaning:
      'The newest entries of the audit log since a time in epoch milliseconds: changes, refusals and losses, or one `kind` of them.',
    params: z.object({
      since: z.coerce.number().int().min(0),
      kind: z.enum(['change', 'refusal', 'loss']).optional(),
      limit: count(1000, 200),
    }),
    run: ({ client }, { since, limit, kind }) =>
      readAudit(client, { since, limit, kinds: kind ? [kind] : ['change', 'refusal', 'loss'] }),
  }),
};

/**
 * Asks the orchestrator, and rejects at once if none is connected. For a caller that may not see who is connected, it waits for the answer.
 */
async function askIfThere<Answer>(
  { client, orchestrator, signedIn }: ApiContext,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const seesAll = isPermitted(operationPermissions.frame.list_connected, signedIn.permissions);
  if (seesAll) await requireOrchestrator(client, orchestrator);
  return await ask();
}
