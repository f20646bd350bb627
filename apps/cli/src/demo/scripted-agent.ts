import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { mcpReplySchema, messageOf, toProxiedResult } from '@signalbox/protocol';
import type { AgentCallResult, AgentOrder, AgentReport } from './agent-messages.ts';

/** The identity and the worker of a scripted agent. The worker gets the same identity from the environment. */
interface AgentSetup {
  url: string;
  agent: string;
  tokenFile: string;
  token: string;
  worker: { command: string; args: string[] };
}

const setup = JSON.parse(process.argv[2]!) as AgentSetup;

const mcp = new Client({ name: 'scripted-agent', version: '1.0.0' });
void begin();

async function begin(): Promise<void> {
  await mcp.connect(
    new StdioClientTransport({
      ...setup.worker,
      env: {
        ...(process.env as Record<string, string>),
        SIGNALBOX_URL: setup.url,
        SIGNALBOX_AGENT: setup.agent,
        SIGNALBOX_TOKEN_FILE: setup.tokenFile,
      },
      stderr: 'inherit',
    }),
  );
  const { url, token, agent } = setup;
  const mailbox = await connectBroker({ url, token, agent });
  const asking = await connectBroker({ url, token, agent: requestAddress(agent) });
  process.on('message', ({ id, ...order }: AgentOrder & { id: number }) => {
    carryOut({ mailbox, asking }, order as AgentOrder, () => report({ id, progress: true })).then(
      (result) => report({ id, result }),
      (error) => report({ id, failure: messageOf(error) }),
    );
  });
  process.once('disconnect', () => {
    Promise.all([mcp.close(), mailbox.close(), asking.close()]).finally(() => process.exit(0));
  });
  report({ id: 0, result: 'ready' });
}

function report(message: AgentReport): void {
  process.send?.(message);
}

/** The connections of the agent: one for its mail, and one from which it asks. */
interface Connections {
  mailbox: BrokerClient;
  asking: BrokerClient;
}

async function carryOut(
  { mailbox, asking }: Connections,
  order: AgentOrder,
  onProgress: () => void,
): Promise<unknown> {
  switch (order.op) {
    case 'tools':
      return (await mcp.listTools()).tools.map((tool) => tool.name);
    case 'calls':
      return Promise.all(
        order.calls.map((call) => callTool(call, order.tellProgress ? onProgress : undefined)),
      );
    case 'call_past_worker':
      return callPastWorker(asking, order.name, order.arguments);
    case 'answer':
      return answerAsks(mailbox, order.with);
    case 'ask': {
      const outcome = await asking.request(
        order.to,
        'ask',
        { text: order.text },
        { timeoutMs: order.timeoutMs },
      );
      if (outcome.status !== 'completed') throw new Error(`the ask ended as ${outcome.status}`);
      return { from: outcome.reply.from.agent, ...(outcome.reply.json as object) };
    }
  }
}

async function callTool(
  call: { name: string; arguments: Record<string, unknown> },
  onProgress: (() => void) | undefined,
): Promise<AgentCallResult> {
  const result = await mcp.callTool(call, onProgress ? { onprogress: onProgress } : {});
  const blocks = (result.content ?? []) as { type: string; text?: string }[];
  return { isError: result.isError === true, text: blocks.map((block) => block.text ?? '').join('\n') };
}

/** Sends a call to the orchestrator without the worker's own check, as an agent could that bypasses its worker. */
async function callPastWorker(
  asking: BrokerClient,
  tool: string,
  args: Record<string, unknown>,
): Promise<AgentCallResult> {
  const body = { op: 'call', tool, arguments: args };
  const outcome = await asking.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  if (outcome.status !== 'completed') throw new Error(`the call ended as ${outcome.status}`);
  const reply = mcpReplySchema.parse(outcome.reply.json);
  if ('error' in reply) return { isError: true, text: reply.error.message };
  return { isError: false, text: 'result' in reply ? toProxiedResult(reply.result).text : '' };
}

async function answerAsks(client: BrokerClient, answer: string): Promise<string> {
  await client.serve(['ask'], async ({ json }) => {
    const { text } = json as { text: string };
    return { kind: 'reply', body: { text: `${answer} (you asked: ${text})` } };
  });
  return 'answering';
}
