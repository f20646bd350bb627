import { randomBytes } from 'node:crypto';
import { type Log, newMessageId } from '@signalbox/client';
import { startTimer } from '@signalbox/client/internal';
import type { UnreadHint } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { CallsUnderWay } from '../tools/calls-under-way.ts';
import type { FaceTools } from '../tools/face-tools.ts';
import { agentsTool } from './agents-tool.ts';
import { AskTable } from './asking/ask-table.ts';
import { askTools } from './asking/ask-tools.ts';
import { WaitingQuestions } from './asking/waiting-questions.ts';
import { callResultTool } from './call-result-tool.ts';
import { GroupInbox } from './groups/group-inbox.ts';
import { GroupInboxes } from './groups/group-inboxes.ts';
import { Inbox } from './inbox/inbox.ts';
import { InboxCursors } from './inbox/inbox-cursors.ts';
import { inboxTools } from './inbox/inbox-tools.ts';
import { readToolOf } from './inbox/mail-hint.ts';
import { mentionMailIn } from './inbox/mention-mail.ts';
import { Mentioned } from './inbox/mentioned.ts';
import { replyTool } from './inbox/reply-tool.ts';
import { Unread } from './inbox/unread.ts';
import { mailboxInstructions } from './mailbox-instructions.ts';
import type { MailboxTool } from './mailbox-tool.ts';
import { MainConnection } from './main-connection.ts';
import { sendTool } from './send-tool.ts';
import { servedInboxTools } from './served/served-inbox-tools.ts';
import { type TurnRef, turnMessages } from './served/turn-messages.ts';

/** Settings for the waits of the mailbox tools and for the hints at mail. Times are in milliseconds. */
export interface MailboxSettings {
  /** The longest wait of one call for an answer or a message; default 50 s. */
  askWaitMs?: number;
  /** The shortest time between two counts of unread messages beside tool calls; default 5 s. */
  unreadEveryMs?: number;
  /** The time for which an agent waits for an answer before questions from other agents end its wait; default 5 s. */
  othersAskAfterMs?: number;
  /**
   * The way in which agents are told of new mail if the configuration of their role does not name one; default `text`, which agent CLIs
   * show their models.
   */
  unreadHint?: UnreadHint;
}

export interface MailboxOptions extends MailboxSettings {
  calls: CallsUnderWay;
  /** Names the process that reads the inbox to the broker, if that process ends with its agent. */
  consumerId?: string;
  /**
   * Set if the agent is served: the turn for which this process was started. This mailbox then never takes the inbox, which `worker serve`
   * holds.
   */
  turn?: TurnRef;
  /** Remembers the mail that hints have mentioned; by default for this mailbox alone. */
  mentioned?: Mentioned;
  log?: Log;
}

/**
 * The mailbox tools of one agent, as far as its role may see them. Disposing it withdraws its questions, releases the inbox and gives back
 * messages of groups.
 */
export interface Mailbox extends FaceTools, AsyncDisposable {
  readonly unread: Unread;
  /** Returns true if disposing the mailbox would lose something: an answer is still to come, or messages of groups are held. */
  isInUse(): boolean;
  /** Gives back the messages of groups that a session of the client took (`FaceCall.session`). Never rejects. */
  sessionEnded(session: string): Promise<void>;
}

/** The longest wait of one call, in milliseconds. Clients commonly give up after 60 s, so one call waits less. */
const defaultWaitMs = 50_000;
const defaultUnreadEveryMs = 5_000;
const defaultOthersAskAfterMs = 5_000;
const askAgainMs = 1_000;

/** Opens the mailbox of the executor's agent. */
export function mailboxTools(executor: McpProxyExecutor, options: MailboxOptions): Mailbox {
  const { calls, log = () => {}, askWaitMs: maxWaitMs = defaultWaitMs } = options;
  const now = () => performance.now();
  const { client } = executor;
  const main = new MainConnection((signal) => executor.connectMain(signal));
  const { consumerId, turn } = options;
  const inbox = new Inbox({ main, consumerId, tracing: executor.tracing, now, log });
  const newCursors = () => new InboxCursors(randomBytes(6).toString('base64url'));
  const cursors = newCursors();
  const groups = new GroupInboxes(
    (group) =>
      new GroupInbox(group, {
        connect: (signal) => executor.connectMember(signal),
        cursors: newCursors(),
        tracing: executor.tracing,
        now,
        wallNow: Date.now,
        log,
      }),
    () => executor.role,
  );
  const asks = new AskTable(client, { newId: newMessageId, now });
  const isShown = (name: string) => {
    const { mailbox } = executor;
    return mailbox === undefined || (mailbox !== false && mailbox.includes(name));
  };
  const readTool = () => readToolOf(executor.mailbox);
  const questions = new WaitingQuestions(client, {
    isWanted: () => readTool() !== undefined && isShown('signalbox_reply'),
    read: () => turn?.seqs ?? inbox.checkedOut.unacked().map(({ seq }) => seq),
    othersAfterMs: options.othersAskAfterMs ?? defaultOthersAskAfterMs,
    now,
    startTimer,
    log,
  });
  const unread = new Unread(client, inbox, {
    everyMs: options.unreadEveryMs ?? defaultUnreadEveryMs,
    // Mail starts a turn of a served agent: a hint would make this turn do the work of another one.
    mode: () => (turn ? 'off' : (executor.unreadHint ?? options.unreadHint ?? 'text')),
    readTool,
    mentioned: options.mentioned ?? new Mentioned(),
    now,
    log,
  });
  const mentioning = (tool: MailboxTool) => mentionMailIn(tool, unread);
  const tools = [
    mentioning(agentsTool(client)),
    mentioning(sendTool(main)),
    ...askTools({ asks, questions, maxWaitMs }).map(mentioning),
    callResultTool({ executor, calls, maxWaitMs, askAgainMs, now }),
    ...(turn
      ? servedInboxTools({ messages: turnMessages(client, turn, now), main, now, wallNow: Date.now })
      : [
          ...inboxTools({
            inbox,
            groups,
            cursors,
            maxWaitMs,
            now,
            wallNow: Date.now,
            onShown: (messages) => unread.shown(messages),
          }),
          mentioning(replyTool({ inbox, groups, main, now })),
        ]),
  ];
  const toolsByName = new Map<string, MailboxTool>(tools.map((tool) => [tool.definition.name, tool]));
  const shown = () => tools.filter(({ definition }) => isShown(definition.name));
  return {
    unread,
    isInUse: () => asks.pending().length > 0 || groups.checkedOut().length > 0,
    sessionEnded: (session) => groups.release(session),
    list: () => shown().map(({ definition }) => definition),
    call(call) {
      const tool = toolsByName.get(call.name);
      return tool && isShown(call.name) ? tool.run(call) : undefined;
    },
    onChanged(listener) {
      let before = shown();
      return executor.onManifestChanged(() => {
        const after = shown();
        const isSame = after.length === before.length && after.every((tool, at) => tool === before[at]);
        before = after;
        if (!isSame) listener();
      });
    },
    instructions: () =>
      mailboxInstructions(
        shown().map(({ definition }) => definition.name),
        { role: executor.role, isServed: turn !== undefined },
      ),
    async [Symbol.asyncDispose]() {
      asks.withdrawAll();
      inbox.close();
      await groups[Symbol.asyncDispose]();
      await main[Symbol.asyncDispose]();
    },
  };
}
