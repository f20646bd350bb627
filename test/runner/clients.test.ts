import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seenBy } from '../support/runner/clients.ts';
import { startWorkerRunStack, type WorkerRunStack } from '../support/runner/worker-run.ts';

let run: WorkerRunStack;

beforeAll(async () => {
  run = await startWorkerRunStack();
});
afterAll(() => run?.[Symbol.asyncDispose]());

const tools = expect.arrayContaining(['mcp_counter__echo', 'mcp_counter__count']);

test.concurrent('claude gets our server in a file, alone, and its prompt is not taken for a value of our options.', async ({
  expect,
}) => {
  // Nobody listens at the first of these brokers.
  const url = `ws://127.0.0.1:9,${run.stack.broker.url}`;
  const env = { SIGNALBOX_URL: url };
  const { code, report } = await seenBy(run, 'claude-1', ['claude', 'do it', 'exit-7'], { env });
  expect(code).toBe(7);
  expect(report).toMatchObject({
    tools,
    echoed: { hi: 1 },
    modes: { directory: '700', token: '600' },
    server: {
      read: { 'strict-mcp-config': true, allowedTools: 'mcp__signalbox', positionals: ['do it', 'exit-7'] },
    },
    ownVariables: {
      SIGNALBOX_URL: url,
      SIGNALBOX_AGENT: 'claude-1',
      SIGNALBOX_TOKEN_FILE: report.tokenFile,
    },
  });
  expect(Object.keys(report.ownVariables)).toHaveLength(4);
  expect(existsSync(dirname(report.tokenFile))).toBe(false);
});
