import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import type { TestBroker } from '@signalbox/testing';
import type { AgentSetup, RunEvent, startCleanupProcess, superviseAgent } from '@signalbox/worker/internal';

export type SuperviseOptions = Parameters<typeof superviseAgent>[0];

/** The options of `superviseAgent` for one test, and what happens to that agent. Its tokens are real. */
export interface TestAgent {
  options: SuperviseOptions;
  events: RunEvent[];
  /** The text of each token, in the order in which they were made. */
  tokens: string[];
}

/** Options for an agent that runs a program without any injection, unless `setup` says otherwise. Its records lie beside `root`. */
export function testAgent(
  broker: TestBroker,
  cleanup: ReturnType<typeof startCleanupProcess>,
  run: { agent: string; program: string; argv: string[]; root: string; setup?: Partial<AgentSetup> },
): TestAgent {
  const events: RunEvent[] = [];
  const tokens: string[] = [];
  const { agent, program, argv, root } = run;
  const setup: AgentSetup = {
    agent,
    url: broker.url,
    insecure: false,
    faceCommand: { command: process.execPath, args: [] },
    argv,
    cwd: root,
    env: { PATH: process.env.PATH ?? '' },
    inject: false,
    keepMcp: false,
    approveWorkspaceServers: false,
    ...run.setup,
  };
  const issueToken: SuperviseOptions['issueToken'] = async () => {
    const { id, token } = await broker.broker.issueToken({ agent, role: 'worker' });
    tokens.push(token);
    return {
      text: token,
      retire: async () => {
        const operator = { url: broker.url, token: await broker.operatorToken(), agent: 'operator#test' };
        await using client = await connectBroker(operator);
        await client.admin('token_revoke', { id });
        return { revoked: true, told: false, heldIds: [] };
      },
    };
  };
  const options: SuperviseOptions = {
    setup,
    program,
    stdin: 'ignore',
    output: { stdout: { write: async () => {} }, stderr: { write: async () => {} } },
    roots: [{ path: root }],
    records: join(root, '..', 'records'),
    issueToken,
    cleanup,
    graceMs: 5000,
    readyTimeoutMs: 60_000,
    onEvent: (event) => events.push(event),
  };
  return { options, events, tokens };
}
