import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import { z } from 'zod';
import type { TalkEnd, Talker, TalkProcess, TurnTalk } from '../program/turn-program.ts';
import type { AcpAgent } from './acp-agents.ts';
import { type AcpConnection, openAcpConnection, type SessionUpdate } from './acp-connection.ts';
import { type AcpSession, initialize, openSession } from './acp-session.ts';
import { AgentQuestions, type Permissions } from './agent-questions.ts';
import { SpokenText } from './spoken-text.ts';
import { ToolCalls } from './tool-calls.ts';
import { promptAnswerSchema, talkFailure, turnVerdict } from './turn-verdict.ts';

/** The agent and the options of its turns. */
export interface AcpTurns {
  agent: AcpAgent;
  permissions: Permissions;
  /** The mode to set, in place of that of the agent's row. */
  mode: string | undefined;
  /** Our version, which the agent is told. */
  version: string;
}

/** The longest wait until the agent has listed our tools, in milliseconds. Some answer before they have them. */
const toolsWaitMs = 20_000;
/** The longest wait for the end of a turn that was cancelled, in milliseconds. */
const cancelWaitMs = 1_000;

/** Talks with one process of an agent. */
export class AcpTalker implements Talker {
  readonly #process: TalkProcess;
  readonly #turns: AcpTurns;
  #connection: AcpConnection | undefined;
  #session: AcpSession | undefined;
  #turn: AgentTurn | undefined;
  #isLoading = false;
  #mode: string | undefined;

  constructor(process: TalkProcess, turns: AcpTurns) {
    this.#process = process;
    this.#turns = turns;
  }

  async take(talk: TurnTalk): Promise<TalkEnd> {
    const turn = new AgentTurn(talk, this.#turns);
    this.#turn = turn;
    const { denials } = turn.questions;
    try {
      return { ...(await this.#talk(turn, talk)), denials };
    } catch (thrown) {
      return {
        ...talkFailure(thrown, this.#turns.agent),
        denials,
        isCutOff: this.#connection?.isCutOff === true,
      };
    } finally {
      turn.questions.end();
      this.#turn = undefined;
    }
  }

  close(): void {
    this.#connection?.close();
  }

  async #talk(turn: AgentTurn, talk: TurnTalk): Promise<TalkEnd> {
    const { signal, isQuestion, prompt } = talk;
    const { agent } = this.#turns;
    const stopped = abortion(signal);
    const { connection, session } = await Promise.race([this.#opened(talk), stopped]);
    await Promise.race([this.#untilToolsAreListed(talk), stopped]);
    let isOver = false;
    const prompted = connection
      .request(
        'session/prompt',
        { sessionId: session.id, prompt: [{ type: 'text', text: prompt }] },
        promptAnswerSchema,
      )
      .finally(() => {
        isOver = true;
      });
    const cancelled = stopped.catch(async (thrown) => {
      // The open questions are answered before the cancel: some agents wait for that.
      turn.questions.end();
      await delay(0);
      // Some agents end their next turn when they are told to cancel while they have none.
      if (isOver) throw thrown;
      await connection.notify('session/cancel', { sessionId: session.id }).catch(() => {});
      await within(
        prompted.catch(() => {}),
        cancelWaitMs,
      );
      throw thrown;
    });
    const answer = await Promise.race([prompted, cancelled]);
    // Some agents end a cancelled turn as if it had come to its end: its text is half an answer.
    if (signal.aborted) return await stopped;
    turn.questions.end();
    const end = turnVerdict({
      agent,
      answer,
      last: turn.text.last(),
      denials: turn.questions.denials,
      undecided: turn.questions.undecided,
      isQuestion,
      completedCalls: turn.calls.completed,
    });
    if (!end.answer) return { ...end, ...(end.isFinal && { session: session.id }) };
    const asksNobody = this.#silentMode();
    return {
      answer: { ...end.answer, session: session.id, ...(asksNobody !== undefined && { asksNobody }) },
    };
  }

  /** Opens connection and session in the first turn. The mode is set in each: the agent may have changed it. */
  async #opened(talk: TurnTalk): Promise<{ connection: AcpConnection; session: AcpSession }> {
    this.#connection ??= await openAcpConnection(this.#process, {
      onUpdate: (update) => this.#take(update),
      onAsked: (toolCall) => void this.#turn?.calls.take(toolCall),
      onPermission: async (request, withdrawn) =>
        (await this.#turn?.questions.decide(request, withdrawn)) ?? { outcome: 'cancelled' },
    });
    const connection = this.#connection;
    this.#session ??= await this.#begun(connection, talk);
    await this.#setMode(connection, this.#session);
    return { connection, session: this.#session };
  }

  async #begun(connection: AcpConnection, { session: known, warn }: TurnTalk): Promise<AcpSession> {
    const offers = await initialize(connection, this.#turns.version);
    const session = await openSession(connection, offers, {
      ...this.#process,
      session: known,
      meta: this.#turns.agent.sessionMeta,
      warn: (code, message) => warn(code, message),
      onLoading: (isLoading) => {
        this.#isLoading = isLoading;
      },
    });
    this.#mode = session.currentMode;
    return session;
  }

  /** Sets the mode in which the agent asks. Some forget it with each process. */
  async #setMode(connection: AcpConnection, { id, modes }: AcpSession): Promise<void> {
    const { agent, mode = agent.mode, permissions } = this.#turns;
    if (mode === undefined) return;
    if (modes && !modes.includes(mode)) {
      const message = `${agent.name} has no mode '${mode}'; it has ${modes.join(', ')}`;
      if (permissions === 'ask' || this.#turns.mode !== undefined) throw new Error(message);
      return;
    }
    await connection.request('session/set_mode', { sessionId: id, modeId: mode }, anything);
    this.#mode = mode;
  }

  async #untilToolsAreListed({ toolsListed, warn, signal }: TurnTalk): Promise<void> {
    const { agent } = this.#turns;
    if (agent.server === 'none')
      warn('no_tools', `${agent.name} takes no MCP servers, and has none of our tools`);
    if (agent.server === 'none' || !toolsListed) return;
    if ((await within(toolsListed, toolsWaitMs, signal)) === late && !signal.aborted)
      warn(
        'no_tools',
        `${agent.name} has not listed our tools after ${toolsWaitMs / 1000} s, and goes on without them`,
      );
  }

  /** Takes an update. Between turns only the mode counts. */
  #take(update: SessionUpdate): void {
    if (this.#isLoading) return;
    if (update.sessionUpdate === 'current_mode_update') this.#mode = update.currentModeId;
    else this.#turn?.take(update);
  }

  /** Returns the mode in which the turn ended, if it is one in which the agent asks nobody and it was to ask. */
  #silentMode(): string | undefined {
    const { agent, permissions } = this.#turns;
    const mode = this.#mode;
    if (permissions !== 'ask' || mode === undefined || !agent.asking || agent.asking.includes(mode))
      return undefined;
    return `the mode '${mode}' of ${agent.name}`;
  }
}

/** The words, the uses of tools and the questions of one turn. */
class AgentTurn {
  readonly calls = new ToolCalls();
  readonly text: SpokenText;
  readonly questions: AgentQuestions;
  readonly #print: TurnTalk['print'];

  constructor(talk: TurnTalk, turns: AcpTurns) {
    this.text = new SpokenText(turns.agent);
    this.questions = new AgentQuestions({ ...turns, calls: this.calls, talk });
    this.#print = talk.print;
    this.calls.onChanged(() => talk.toolsUsed(() => this.calls.open()));
  }

  take(update: Exclude<SessionUpdate, { sessionUpdate: 'current_mode_update' }>): void {
    if (update.sessionUpdate === 'agent_message_chunk') {
      this.text.add(update.content.text, update.messageId ?? undefined);
      this.#print(update.content.text);
      return;
    }
    this.text.toolCalled();
    const { title = 'a tool', status = 'pending' } = this.calls.take(update);
    this.#print(`\n[${status}] ${title}\n`);
  }
}

const anything = z.unknown();

/** Rejects when the signal is aborted. */
function abortion(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new SignalboxError('closed', 'the turn was ended'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  aborted.catch(() => {});
  return aborted;
}
