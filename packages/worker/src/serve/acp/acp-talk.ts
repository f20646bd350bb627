import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import { z } from 'zod';
import type { TalkEnd, TurnTalk } from '../program/turn-program.ts';
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

/** Talks with an agent for one turn. Never rejects. */
export async function talkAcp(talk: TurnTalk, turns: AcpTurns): Promise<TalkEnd> {
  const talking = new AgentTalk(talk, turns);
  try {
    return { ...(await talking.talk()), denials: talking.denials };
  } catch (thrown) {
    return { ...talkFailure(thrown), denials: talking.denials, isCutOff: talking.isCutOff };
  } finally {
    talking.end();
  }
}

class AgentTalk {
  readonly #talk: TurnTalk;
  readonly #turns: AcpTurns;
  readonly #calls = new ToolCalls();
  readonly #text: SpokenText;
  readonly #questions: AgentQuestions;
  #isLoading = false;
  #mode: string | undefined;
  #connection: AcpConnection | undefined;

  constructor(talk: TurnTalk, turns: AcpTurns) {
    this.#talk = talk;
    this.#turns = turns;
    this.#text = new SpokenText(turns.agent);
    this.#questions = new AgentQuestions({ ...turns, calls: this.#calls, talk });
  }

  get denials(): readonly string[] {
    return this.#questions.denials;
  }

  /** True if the agent ended the connection. */
  get isCutOff(): boolean {
    return this.#connection?.isCutOff === true;
  }

  async talk(): Promise<TalkEnd> {
    this.#calls.onChanged(() => this.#talk.toolsUsed(() => this.#calls.open()));
    const { signal, isQuestion, prompt } = this.#talk;
    const { agent, version } = this.#turns;
    const connection = await openAcpConnection(this.#talk, {
      onUpdate: (update) => this.#take(update),
      onAsked: (toolCall) => void this.#calls.take(toolCall),
      onPermission: (request, withdrawn) => this.#questions.decide(request, withdrawn),
    });
    this.#connection = connection;
    const stopped = abortion(signal);
    const session = await Promise.race([this.#open(connection, version), stopped]);
    await Promise.race([this.#untilToolsAreListed(), stopped]);
    const prompted = connection.request(
      'session/prompt',
      { sessionId: session.id, prompt: [{ type: 'text', text: prompt }] },
      promptAnswerSchema,
    );
    const cancelled = stopped.catch(async (thrown) => {
      // The open questions are answered before the cancel: some agents wait for that.
      this.#questions.end();
      await delay(0);
      await connection.notify('session/cancel', { sessionId: session.id }).catch(() => {});
      await within(
        prompted.catch(() => {}),
        cancelWaitMs,
      );
      throw thrown;
    });
    const answer = await Promise.race([prompted, cancelled]);
    this.#questions.end();
    const end = turnVerdict({
      agent,
      answer,
      last: this.#text.last(),
      denials: this.#questions.denials,
      undecided: this.#questions.undecided,
      isQuestion,
      completedCalls: this.#calls.completed,
    });
    if (!end.answer) return { ...end, ...(end.isFinal && { session: session.id }) };
    const asksNobody = this.#silentMode();
    return {
      answer: { ...end.answer, session: session.id, ...(asksNobody !== undefined && { asksNobody }) },
    };
  }

  end(): void {
    this.#questions.end();
    this.#connection?.close();
  }

  async #open(connection: AcpConnection, version: string): Promise<AcpSession> {
    const offers = await initialize(connection, version);
    const session = await openSession(connection, offers, {
      ...this.#talk,
      meta: this.#turns.agent.sessionMeta,
      warn: (code, message) => this.#talk.warn(code, message),
      onLoading: (isLoading) => {
        this.#isLoading = isLoading;
      },
    });
    this.#mode = session.currentMode;
    await this.#setMode(connection, session);
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

  async #untilToolsAreListed(): Promise<void> {
    const { toolsListed, warn } = this.#talk;
    const { agent } = this.#turns;
    if (agent.server === 'none')
      warn('no_tools', `${agent.name} takes no MCP servers, and has none of our tools`);
    if (agent.server === 'none' || !toolsListed) return;
    const { signal } = this.#talk;
    if ((await within(toolsListed, toolsWaitMs, signal)) === late && !signal.aborted)
      warn(
        'no_tools',
        `${agent.name} has not listed our tools after ${toolsWaitMs / 1000} s, and goes on without them`,
      );
  }

  #take(update: SessionUpdate): void {
    if (this.#isLoading) return;
    const { print } = this.#talk;
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        this.#text.add(update.content.text, update.messageId ?? undefined);
        print(update.content.text);
        break;
      case 'current_mode_update':
        this.#mode = update.currentModeId;
        break;
      default: {
        this.#text.toolCalled();
        const { title = 'a tool', status = 'pending' } = this.#calls.take(update);
        print(`\n[${status}] ${title}\n`);
      }
    }
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
