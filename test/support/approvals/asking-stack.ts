import { type BrokerClient, connectBroker } from '@signalbox/client';
import { type ApprovalPolicy, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { type Approval, agentOf, approvalsReplySchema, type McpReply } from '@signalbox/protocol';
import { expect } from 'vitest';
import { type JournaledStack, startJournaledStack } from '../orchestrator/journaled-stack.ts';
import type { ToolStackOptions } from '../orchestrator/tool-stack.ts';

/** A decision as the operation `decide` takes it. */
export type Verdict = { verdict: 'approve' | 'deny'; reason?: string; for_ms?: number };

/** A stack in which calls of the role `worker` wait for decisions, with a person who decides. */
export interface AskingStack extends JournaledStack {
  /** A client with the operator's token. */
  readonly operator: BrokerClient;
  /** Asks the orchestrator with a live connection. */
  ask(client: BrokerClient, body: object): Promise<McpReply>;
  /** Lists the approvals that wait. */
  pending(client?: BrokerClient): Promise<Approval[]>;
  /** Resolves with the waiting approvals as soon as there are that many. */
  waits(count?: number): Promise<Approval[]>;
  decide(id: string, verdict: Verdict, client?: BrokerClient): Promise<McpReply>;
  /** Starts another orchestrator on the same inbox, with the same journal and host. */
  restart(): Promise<AsyncDisposable>;
  /** Connects with a token. */
  connect(agent: string, token: string): Promise<BrokerClient>;
  /** Issues tokens for agents with a minting token for `ci-*` and the role `worker`. Resolves with the tokens. */
  minted(...agents: string[]): Promise<string[]>;
  /** Connects with a new token that decides on calls of these roles. */
  approver(agent: string, approves: string[], role?: string): Promise<BrokerClient>;
}

/** Starts a stack in which all tools but `echo` are under `ask`, unless `policy` says otherwise. */
export async function startAskingStack(
  policy: Partial<ApprovalPolicy> = {},
  options: ToolStackOptions = {},
): Promise<AskingStack> {
  const roles = { worker: ['mcp_counter__count', 'mcp_counter__slow'] };
  const approvals = { roles, deadlineMs: 60_000, notify: [], ...policy };
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(await startJournaledStack({ approvals, ...options }));
  const operator = await stack.client('operator');
  const ask = async (client: BrokerClient, body: object): Promise<McpReply> => {
    const outcome = await client.request('orchestrator', 'mcp_request', body, {
      timeoutMs: 20_000,
      ephemeral: true,
    });
    if (outcome.status !== 'completed') throw new Error(`the request ended ${outcome.status}`);
    return outcome.reply.json as McpReply;
  };
  const pending = async (client = operator): Promise<Approval[]> => {
    const reply = await ask(client, { op: 'approvals' });
    return approvalsReplySchema.parse('data' in reply ? reply.data : reply).approvals;
  };
  const started = starting.move();
  const connect = async (agent: string, token: string) =>
    started.use(await connectBroker({ url: stack.broker.url, token, agent }));
  return {
    ...stack,
    operator,
    ask,
    pending,
    async waits(count = 1) {
      await expect.poll(async () => (await pending()).length).toBe(count);
      return await pending();
    },
    decide: (id, verdict, client = operator) => ask(client, { op: 'decide', id, ...verdict }),
    connect,
    async restart() {
      await using next = new AsyncDisposableStack();
      const token = await stack.broker.tokenOf('orchestrator', 'orchestrator');
      const { url } = stack.broker;
      const client = next.use(await connectBroker({ url, token, agent: 'orchestrator' }));
      const { host, journal } = stack;
      const { sizes, approvalLimits } = options;
      next.use(
        await startOrchestrator({
          client,
          host,
          journal,
          policy: wholePolicy({ approvals }),
          ...(sizes && { sizes }),
          ...(approvalLimits && { approvalLimits }),
        }),
      );
      return next.move();
    },
    async minted(...agents) {
      const { token } = await stack.broker.broker.issueToken({ agent: 'ci-*', role: 'worker' });
      const minter = await connect('ci-0', token);
      const issue = (agent: string) => minter.admin('token_issue', { agent, role: 'worker' });
      return (await Promise.all(agents.map(issue))).map((issued) => issued.token);
    },
    async approver(address, approves, role = 'lead') {
      const { token } = await stack.broker.broker.issueToken({ agent: agentOf(address), role, approves });
      return await connect(address, token);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
