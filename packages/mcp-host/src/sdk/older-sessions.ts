import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@signalbox/protocol';
import { timerMs, within } from '@signalbox/serving';
import type { ToolList } from '../inventory/tool-list.ts';
import type { Declared } from '../questions/askable.ts';
import type { RequestLimits, ServerAnswer, ServerConnection, ToolRequest } from '../server-connection.ts';
import { isSessionUnknown } from '../tool-calls/index.ts';

/**
 * The most sessions beside one connection: of one agent, whose clients may declare different questions, and of all agents. A new one takes
 * the place of the one that was unused longest. Without an unused one, calls are made in the current revision.
 */
const maxSessions = { each: 4, all: 256 };
/** The time for which a session without calls is kept, in milliseconds. */
const idleMs = 5 * 60_000;
/** The longest time that opening a session may take, in milliseconds. */
const openMs = 10_000;
/** The time for which no other session is opened after one could not be, in milliseconds. */
const refusedMs = 60_000;

/** The dependencies of {@link OlderSessions}. */
export interface OlderSessionsDeps {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Returns the questions that a session for one client declares. */
  declaredFor: (client: Record<string, unknown> | undefined) => Declared;
  /** Opens a session of a revision up to 2025-11-25. */
  open: (
    declared: Declared,
    options: RequestLimits & { onToolsChanged: () => void },
  ) => Promise<ServerConnection>;
  /** Called when a session could not be opened. The reason may hold the server's own words. */
  onFailed: (reason: string) => void;
}

/** One session for the clients of one agent that take the same questions. */
interface OlderSession {
  readonly agent: string | undefined;
  readonly opened: Promise<ServerConnection>;
  connection: ServerConnection | undefined;
  /** The tools that the server lists in this session, and the list of the newer side with which they were read. */
  tools: { beside: ToolList; list: Promise<ToolList> } | undefined;
  calls: number;
  hasAnswered: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

/**
 * Makes calls of clients of the revisions up to 2025-11-25 in sessions of those revisions, with an HTTP server that speaks 2026-07-28, too.
 * Such a server may ask its clients by requests of its own, which it cannot do in the current revision. Each agent has sessions of its own,
 * so that a question and a log message belong to nobody else. Calls whose clients take no questions need no such session.
 */
export class OlderSessions {
  readonly #deps: OlderSessionsDeps;
  readonly #sessions = new Map<string, OlderSession>();
  readonly #stop = new AbortController();
  #newer: ToolList | undefined;
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: OlderSessionsDeps) {
    this.#deps = deps;
  }

  /** Takes the list of tools that the server has in the current revision. Only tools that are defined alike are called in a session. */
  meet(list: ToolList): void {
    this.#newer = list;
  }

  /** Returns true if the client of a call may be asked in a session. A round with answers goes on where the call began. */
  isFor({ round }: ToolRequest): boolean {
    if (!round?.isOlderClient || round.inputResponses || round.requestState !== undefined) return false;
    return Object.keys(this.#deps.declaredFor(round.clientCapabilities)).length > 0;
  }

  /**
   * Makes a call in the session of its client, which is opened if needed. `inCurrentRevision` makes it if the server has no older side, or
   * defines the tool otherwise there. Never rejects if `inCurrentRevision` doesn't.
   */
  async call(
    name: string,
    args: Record<string, unknown>,
    request: ToolRequest,
    inCurrentRevision: (request: ToolRequest) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const { now } = this.#deps;
    const deadline = now() + request.timeoutMs;
    const session = this.#sessionOf(request);
    if (!session) return inCurrentRevision(request);
    session.calls++;
    clearTimeout(session.idleTimer);
    try {
      const prepared = this.#prepare(session, name);
      await within(prepared, timerMs(request.timeoutMs), request.signal);
      const timeoutMs = deadline - now();
      if (request.signal.aborted || timeoutMs <= 0)
        return { failure: { kind: 'not_sent', reason: 'its session was not opened in time' } };
      const connection = await prepared;
      // Opening the session has taken a part of the time.
      const sent = { ...request, timeoutMs };
      if (!connection) return await inCurrentRevision(sent);
      const answer = await connection.callTool(name, args, sent);
      if (
        'failure' in answer &&
        session.hasAnswered &&
        !connection.isOpen &&
        isSessionUnknown(answer.failure)
      )
        return { failure: { kind: 'not_sent', reason: answer.failure.reason } };
      session.hasAnswered ||= 'result' in answer;
      return answer;
    } finally {
      session.calls--;
      this.#endWhenIdle(session);
    }
  }

  /** Closes each session as soon as no call runs in it. Resolves when all are closed. */
  async retire(): Promise<void> {
    await this.#end((connection) => connection.retire());
  }

  /** Closes all sessions now. */
  async close(): Promise<void> {
    await this.#end((connection) => connection.close());
  }

  async #end(end: (connection: ServerConnection) => Promise<void>): Promise<void> {
    this.#stop.abort();
    const ending = [...this.#sessions.values()].map(({ opened, idleTimer }) => {
      clearTimeout(idleTimer);
      return opened.then(end, () => {});
    });
    await Promise.all(ending);
  }

  #sessionOf({ agent, round }: ToolRequest): OlderSession | undefined {
    const declared = this.#deps.declaredFor(round?.clientCapabilities);
    const key = JSON.stringify([agent, declared]);
    const present = this.#sessions.get(key);
    if (present) {
      // The one that was used last stands last.
      this.#sessions.delete(key);
      this.#sessions.set(key, present);
      return present;
    }
    const isRefused = this.#deps.now() < this.#refusedUntilMs;
    if (isRefused || this.#stop.signal.aborted || !this.#makeRoom(agent)) return undefined;
    const onToolsChanged = (): void => {
      session.tools = undefined;
    };
    const options = { timeoutMs: openMs, signal: this.#stop.signal, onToolsChanged };
    const opened = this.#deps.open(declared, options);
    const session: OlderSession = {
      agent,
      opened,
      connection: undefined,
      tools: undefined,
      calls: 0,
      hasAnswered: false,
      idleTimer: undefined,
    };
    this.#sessions.set(key, session);
    const forget = (): void => {
      clearTimeout(session.idleTimer);
      if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    };
    opened.then(
      (connection) => {
        session.connection = connection;
        this.#endWhenIdle(session);
        void connection.lost.then(() => {
          forget();
          void connection.retire();
        });
      },
      (error) => {
        forget();
        if (this.#stop.signal.aborted) return;
        this.#refusedUntilMs = this.#deps.now() + refusedMs;
        this.#deps.onFailed(messageOf(error));
      },
    );
    return session;
  }

  /** Returns false if the agent can have no further session. */
  #makeRoom(agent: string | undefined): boolean {
    const all = [...this.#sessions];
    const own = all.filter(([, session]) => session.agent === agent);
    if (own.length < maxSessions.each && all.length < maxSessions.all) return true;
    const unused = (own.length < maxSessions.each ? all : own).find(([, session]) => isUnused(session));
    if (!unused) return false;
    const [key, { connection, idleTimer }] = unused;
    clearTimeout(idleTimer);
    this.#sessions.delete(key);
    void connection?.close();
    return true;
  }

  /** Returns the connection of a session if the server defines the tool alike on both sides. */
  async #prepare(session: OlderSession, name: string): Promise<ServerConnection | undefined> {
    try {
      const connection = await session.opened;
      const beside = this.#newer;
      if (!beside) return undefined;
      if (session.tools?.beside !== beside) {
        const limits = { timeoutMs: openMs, signal: this.#stop.signal };
        session.tools = { beside, list: connection.listTools(limits) };
      }
      const isAlike = isDeepStrictEqual(
        definitionIn(await session.tools.list, name),
        definitionIn(beside, name),
      );
      return isAlike ? connection : undefined;
    } catch {
      // The next call asks for the list again.
      session.tools = undefined;
      return undefined;
    }
  }

  /** Ends a session that nobody has used for some time. */
  #endWhenIdle(session: OlderSession): void {
    clearTimeout(session.idleTimer);
    if (session.calls > 0 || !session.connection?.isOpen || this.#stop.signal.aborted) return;
    session.idleTimer = setTimeout(() => {
      if (isUnused(session)) void session.connection?.close();
      else this.#endWhenIdle(session);
    }, idleMs).unref();
  }
}

/** Returns true if a session is open and no call runs in it. A call runs on while its client is asked. */
function isUnused({ calls, connection }: OlderSession): boolean {
  return calls === 0 && connection?.inFlight === 0;
}

/** Returns the definition of a tool as its server sent it. */
function definitionIn({ tools, sent }: ToolList, name: string): object | undefined {
  return sent?.get(name) ?? tools.find((tool) => tool.name === name);
}
