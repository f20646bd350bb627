import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { type Approval, approvalsReplySchema, type McpReply } from '@signalbox/protocol';
import { expect } from 'vitest';
import { everythingText, startWorkspace, type Workspace } from '../cli/workspace.ts';

/** `signalbox up`, an agent that asks others, and a person who decides. */
export interface AcpStage extends AsyncDisposable {
  readonly workspace: Workspace;
  readonly asker: BrokerClient;
  /** Asks an agent to do steps, or something in words. Resolves with its reply, or with how the request ended. */
  ask(
    agent: string,
    body: string | object[],
    how?: { thread?: string; kind?: string; signal?: AbortSignal },
  ): Promise<unknown>;
  /** Resolves with the questions of an agent that wait, as soon as there are that many. */
  waiting(agent: string, count?: number): Promise<Approval[]>;
  /** Decides on a question. */
  decide(id: string, decision: object): Promise<McpReply>;
  /** Finds an approval that has ended. */
  ended(id: string): Promise<Approval | undefined>;
  /** Runs a command as the operator. */
  command(...args: string[]): ReturnType<Workspace['run']>;
}

export async function startAcpStage(
  config: (directory: string) => string = everythingText,
): Promise<AcpStage> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await startWorkspace(config));
  const { directory, ready, run } = workspace;
  const { url } = ready.broker;
  const { env } = await workspace.agent('asker', 'researcher');
  const token = async (file: string) => (await readFile(file, 'utf8')).trim();
  const asker = opened.use(
    await connectBroker({ url, token: await token(env.SIGNALBOX_TOKEN_FILE!), agent: 'asker' }),
  );
  const operator = opened.use(
    await connectBroker({
      url,
      token: await token(join(directory, 'state', 'operator.token')),
      agent: 'operator',
    }),
  );
  const orchestrator = async (body: object): Promise<McpReply> => {
    const outcome = await operator.request('orchestrator', 'mcp_request', body, {
      timeoutMs: 20_000,
      ephemeral: true,
    });
    if (outcome.status !== 'completed') throw new Error(`the request ended ${outcome.status}`);
    return outcome.reply.json as McpReply;
  };
  const approvals = async (body: object): Promise<Approval[]> => {
    const reply = await orchestrator({ op: 'approvals', ...body });
    return approvalsReplySchema.parse('data' in reply ? reply.data : reply).approvals;
  };
  const resources = opened.move();
  return {
    workspace,
    asker,
    async ask(agent, body, { thread, kind = 'ask', signal } = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const outcome = await asker.request(agent, kind, text, {
        timeoutMs: 60_000,
        ...(thread !== undefined && { thread }),
        ...(signal && { signal }),
      });
      return outcome.status === 'completed' ? outcome.reply.json : outcome;
    },
    async waiting(agent, count = 1) {
      const found = async () => (await approvals({})).filter((one) => one.agent === agent);
      await expect.poll(async () => (await found()).length, { interval: 100 }).toBe(count);
      return await found();
    },
    decide: (id, decision) => orchestrator({ op: 'decide', id, ...decision }),
    ended: async (id) => (await approvals({ all: true })).find((one) => one.id === id),
    command: (...args) =>
      run([...args, '--data', join(directory, 'state')], { SIGNALBOX_URL: ready.broker.url }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
