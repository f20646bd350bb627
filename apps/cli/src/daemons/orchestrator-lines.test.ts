import type { OrchestratorReport } from '@signalbox/daemon/orchestrator';
import { expect, test } from 'vitest';
import { orchestratorLines } from './orchestrator-lines.ts';

test('A server that is ready works, also if one of its lists has a problem; another one with a problem does not.', () => {
  const message = 'left out, not a valid prompt: name: expected a text';
  const report: OrchestratorReport = {
    url: 'ws://127.0.0.1:7411',
    servers: [
      { name: 'odd', state: 'ready', tools: 2 },
      { name: 'gone', state: 'backing_off', tools: 1 },
      { name: 'plain', state: 'ready', tools: 1 },
    ],
    notReady: [],
    ...{ roles: [], unlisted: 'allow', tools: 4, renamed: [], hidden: [], warnings: [] },
    problems: [
      { server: 'odd', message },
      { server: 'gone', message: 'not available: it exited' },
    ],
  };
  const lines = orchestratorLines(report);
  expect(lines).toContain(`  odd     2 tools (ready); ${message}`);
  expect(lines).toContain('  gone    not working: not available: it exited');
  expect(lines).toContain('  plain   1 tool (ready)');
});
