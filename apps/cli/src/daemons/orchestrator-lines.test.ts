import type { OrchestratorReport } from '@signalbox/daemon/orchestrator';
import { expect, test } from 'vitest';
import { orchestratorLines } from './orchestrator-lines.ts';

test('A server that is ready works, also if one of its lists or tools has a problem, which is named; another one with a problem does not.', () => {
  const message = 'left out, not a valid prompt: name: expected a text';
  const report: OrchestratorReport = {
    url: 'ws://127.0.0.1:7411',
    isServing: true,
    servers: [
      { name: 'odd', state: 'ready', tools: 2 },
      { name: 'gone', state: 'backing_off', tools: 1 },
      { name: 'plain', state: 'ready', tools: 1 },
      { name: 'bare', state: 'ready', tools: 0 },
    ],
    notReady: [],
    ...{ roles: [], unlisted: 'allow', tools: 4, renamed: [], hidden: [], warnings: [] },
    problems: [
      { server: 'odd', message },
      { server: 'gone', message: 'not available: it exited' },
      { server: 'bare', tool: 'push', message: 'left out, not a valid tool' },
    ],
  };
  const lines = orchestratorLines(report);
  expect(lines).toContain(`  odd     2 tools (ready); ${message}`);
  expect(lines).toContain('  gone    not working: not available: it exited');
  expect(lines).toContain('  plain   1 tool (ready)');
  expect(lines).toContain('  bare    0 tools (ready); 1 remark on its tools below');
  expect(lines).toContain('  bare: push: left out, not a valid tool');
});

test('An orchestrator that waits for the end of another one does not say that it serves.', () => {
  const report: OrchestratorReport = {
    url: 'ws://127.0.0.1:7411',
    isServing: false,
    ...{ servers: [], notReady: [], roles: [], unlisted: 'allow', tools: 0, renamed: [], hidden: [] },
    ...{ warnings: [], problems: [] },
  };
  expect(orchestratorLines(report).slice(0, 2)).toEqual([
    'orchestrator ready: 0 tools from 0 MCP servers, waiting at ws://127.0.0.1:7411',
    '  another orchestrator serves; this one goes on when that one is over',
  ]);
  expect(orchestratorLines({ ...report, isServing: true })[0]).toContain('serving at');
  expect(orchestratorLines(report).join('\n')).toContain('MAY USE');
  const origin = { file: '/etc/lab.yaml', label: 'lab' };
  expect(orchestratorLines(report, origin)).toContain(
    '  no MCP servers are configured for host lab; add some under mcpServers in /etc/lab.yaml',
  );
});
