import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { neutralEnvironment, ownCommand } from '../process/own-command.ts';
import type { AgentCallResult, AgentOrder, AgentReport } from './agent-messages.ts';

/** A scripted agent in its own process, with `signalbox worker mcp` as its MCP server. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Map<number, { settle: (report: AgentReport) => void; onProgress?: () => void }>();
  #orders = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, 'exit');
    child.on('message', (report: AgentReport) => {
      const waiting = this.#waiting.get(report.id);
      if ('progress' in report) waiting?.onProgress?.();
      else {
        this.#waiting.delete(report.id);
        waiting?.settle(report);
      }
    });
    child.once('exit', () => {
      for (const [id, { settle }] of this.#waiting) settle({ id, failure: 'the agent process ended' });
      this.#waiting.clear();
    });
  }

  static async start(who: {
    url: string;
    agent: string;
    tokenFile: string;
    token: string;
  }): Promise<AgentProcess> {
    const own = ownCommand();
    const setup = { ...who, worker: { command: own.command, args: [...own.args, 'worker', 'mcp'] } };
    const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const script = fileURLToPath(new URL(`./scripted-agent.${ending}`, import.meta.url));
    const child = fork(script, [JSON.stringify(setup)], { env: neutralEnvironment() });
    const agent = new AgentProcess(child);
    await agent.#settled(0);
    return agent;
  }

  tools(): Promise<string[]> {
    return this.#order({ op: 'tools' }) as Promise<string[]>;
  }

  async call(name: string, args: Record<string, unknown>, onProgress?: () => void): Promise<AgentCallResult> {
    const order: AgentOrder = {
      op: 'calls',
      calls: [{ name, arguments: args }],
      tellProgress: onProgress !== undefined,
    };
    const [result] = (await this.#order(order, onProgress)) as AgentCallResult[];
    return result!;
  }

  calls(calls: { name: string; arguments: Record<string, unknown> }[]): Promise<AgentCallResult[]> {
    return this.#order({ op: 'calls', calls }) as Promise<AgentCallResult[]>;
  }

  callPastWorker(name: string, args: Record<string, unknown>): Promise<AgentCallResult> {
    return this.#order({ op: 'call_past_worker', name, arguments: args }) as Promise<AgentCallResult>;
  }

  async answerAsks(answer: string): Promise<void> {
    await this.#order({ op: 'answer', with: answer });
  }

  ask(to: string, text: string, timeoutMs: number): Promise<{ from: string; text: string }> {
    return this.#order({ op: 'ask', to, text, timeoutMs }) as Promise<{ from: string; text: string }>;
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }

  #order(order: AgentOrder, onProgress?: () => void): Promise<unknown> {
    const id = ++this.#orders;
    const settled = this.#settled(id, onProgress);
    this.#child.send({ id, ...order });
    return settled;
  }

  #settled(id: number, onProgress?: () => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settle = (report: AgentReport): void => {
        if ('result' in report) resolve(report.result);
        else reject(new Error('failure' in report ? report.failure : 'no result'));
      };
      this.#waiting.set(id, { settle, ...(onProgress && { onProgress }) });
    });
  }
}
