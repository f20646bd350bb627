import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type {
  BrokerClient,
  Outgoing,
  ParsedMessage,
  Receipt,
  RequestOptions,
  RequestOutcome,
  ServedRequest,
  ServeLoop,
  ServeOptions,
} from '@signalbox/client';
import {
  agentOfToken,
  parseTokenFile,
  readJson,
  SignalboxError,
  type TokenFile,
  type Tool,
  tokenFileFault,
  tokenFileProblem,
} from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import { type ExecutorOptions, McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { ExecuteOptions } from '../executor/tool-call.ts';

/** The deadline of an `ask` that sets none, in milliseconds. */
const defaultAskTimeoutMs = 300_000;

/** The identity and the connection of an {@link Agent}. Everything else is as in `ExecutorOptions`. */
export interface AgentOptions extends Omit<ExecutorOptions, 'url' | 'token' | 'agent' | 'consumer'> {
  /** The file that `signalbox token issue --out` wrote; by default `SIGNALBOX_TOKEN_FILE`. It is read again when the token is over. */
  tokenFile?: string;
  /** The broker's address; by default `SIGNALBOX_URL`, and without that the one in the token file. */
  url?: string;
  /** The agent id. Only a minting token, which names a pattern, needs it. */
  agent?: string;
}

/** The fields of a message that {@link Agent.send} may set besides recipient and body; the kind is `note` by default. */
export type SendOptions = Partial<Omit<Outgoing, 'to' | 'body'>>;

/** The options of {@link Agent.serve}. */
export interface AgentServeOptions extends Pick<ServeOptions, 'concurrency'> {
  /** The kinds of messages that are answered; default `ask` and `task`. */
  kinds?: readonly string[];
}

/** One agent of a fleet, in a program of its own: its tools, and its mail. */
export interface Agent extends AsyncDisposable {
  /** The agent's id, which its token names. */
  readonly id: string;
  /** The role of the token, as the broker attests it. */
  readonly role: string;
  /** The tools that the role may call now, in the orchestrator's order. */
  readonly tools: readonly Tool[];
  /** Calls a tool. Every failure is a return value. */
  call(tool: string, args?: Record<string, unknown>, options?: ExecuteOptions): Promise<CallResult>;
  /** Sends a message, a `note` unless the options say otherwise. Resolves when the broker has it on disk; rejects if it is refused. */
  send(to: string, body: unknown, options?: SendOptions): Promise<Receipt>;
  /** Asks an agent, and waits for the reply, by default at most five minutes. Every end is a return value. */
  ask(to: string, body: unknown, options?: Partial<RequestOptions>): Promise<RequestOutcome>;
  /**
   * Answers what comes to the agent's inbox: `answer` returns the body of the reply. If it rejects, the message comes again later; after
   * five tries it is a dead letter. Only one process at a time has the inbox: the newest takes it over.
   */
  serve(
    answer: (request: ServedRequest) => Promise<unknown>,
    options?: AgentServeOptions,
  ): Promise<ServeLoop>;
  /**
   * Iterates over the messages of the agent's inbox that `serve` does not take. A message is acked when the loop asks for the next one; the
   * one at which the loop ends comes again.
   */
  inbox(): AsyncIterableIterator<ParsedMessage>;
  /** Ends the connections. Running calls end with `connection_lost`. */
  close(): Promise<void>;
}

/**
 * Connects an agent: `connectAgent('rosa.token')`, or `connectAgent()` in a program that `signalbox worker run` started. Rejects with
 * `SignalboxError`: `usage` if the token file can't be read or the broker's address is unknown, else as `connectBroker`.
 */
export async function connectAgent(given: string | AgentOptions = {}): Promise<Agent> {
  const { tokenFile = process.env.SIGNALBOX_TOKEN_FILE, ...options }: AgentOptions =
    typeof given === 'string' ? { tokenFile: given } : given;
  if (!tokenFile)
    throw usage(
      'tokenFile is missing',
      "name the file that 'signalbox token issue --out' wrote, or set SIGNALBOX_TOKEN_FILE",
    );
  const { token, url: ofFile } = await readTokenFile(tokenFile);
  const url = options.url ?? (process.env.SIGNALBOX_URL || ofFile);
  if (!url) throw usage(`${tokenFile} names no broker`, 'give url, or set SIGNALBOX_URL');
  const agent = options.agent ?? agentOfToken(token);
  if (agent === undefined) throw usage(`the token in ${tokenFile} names no single agent`, 'give agent');
  const renewToken = async (): Promise<string | undefined> => {
    const { token: newest } = await readTokenFile(tokenFile);
    return newest === token ? undefined : newest;
  };
  const executor = await McpProxyExecutor.connect({ renewToken, ...options, url, token, agent });
  return new ConnectedAgent(executor);
}

async function readTokenFile(file: string): Promise<TokenFile> {
  const text = await readFile(file, 'utf8').catch((failure: unknown) => ({ failure }));
  const found = typeof text === 'string' ? tokenFileFault(text, existsSync) : text;
  if (typeof text === 'string' && found === undefined) return parseTokenFile(text)!;
  const { message, hint } = tokenFileProblem(file, typeof found === 'object' ? found : { text: found ?? '' });
  throw usage(message, hint);
}

function usage(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', `${message}: ${hint}`, { details: { hint } });
}

class ConnectedAgent implements Agent {
  readonly #executor: McpProxyExecutor;
  readonly #stop = new AbortController();
  /** The connection that has the agent's inbox, once something takes messages from it. */
  #main: Promise<BrokerClient> | undefined;

  constructor(executor: McpProxyExecutor) {
    this.#executor = executor;
  }

  get id(): string {
    return this.#executor.agent;
  }

  get role(): string {
    return this.#executor.role;
  }

  get tools(): readonly Tool[] {
    return this.#executor.listTools();
  }

  call(name: string, args: Record<string, unknown> = {}, options?: ExecuteOptions): Promise<CallResult> {
    return this.#executor.execute({ name, arguments: args }, options);
  }

  send(to: string, body: unknown, { kind = 'note', ...options }: SendOptions = {}): Promise<Receipt> {
    return this.#executor.client.deliver({ ...options, to, kind, body });
  }

  ask(to: string, body: unknown, options: Partial<RequestOptions> = {}): Promise<RequestOutcome> {
    return this.#executor.client.request(to, 'ask', body, { timeoutMs: defaultAskTimeoutMs, ...options });
  }

  async serve(
    answer: (request: ServedRequest) => Promise<unknown>,
    { kinds = ['ask', 'task'], ...options }: AgentServeOptions = {},
  ): Promise<ServeLoop> {
    const main = await this.#inbox();
    const handler = async (request: ServedRequest) => ({
      kind: 'reply',
      body: (await answer(request)) ?? null,
    });
    return await main.serve(kinds, handler, options);
  }

  async *inbox(): AsyncIterableIterator<ParsedMessage> {
    const main = await this.#inbox();
    await using subscription = await main.subscribe();
    for await (const message of subscription.messages) {
      const { seq, body } = message;
      let json: unknown;
      try {
        json = body === undefined ? undefined : readJson(body);
      } catch {
        if (seq !== undefined) await main.nack([seq], { dead: true, reason: 'bad_body' });
        continue;
      }
      yield { ...message, json };
      if (seq !== undefined) await main.ack([seq]);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const main = await this.#main?.catch(() => undefined);
    await Promise.all([main?.close(), this.#executor.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #inbox(): Promise<BrokerClient> {
    this.#main ??= this.#executor.connectMain(this.#stop.signal).catch((thrown) => {
      this.#main = undefined;
      throw thrown;
    });
    return this.#main;
  }
}
