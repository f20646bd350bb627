import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrokerClient } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { serversReplySchema } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

/** The secrets that no reply may show. */
const canaries = [
  'canary-of-env',
  'canary-of-header',
  'canary-of-url',
  'canary-of-bearer',
  'canary-of-password',
];

test('no reply of any op shows a secret of any server, nor to a worker what other servers there are', async () => {
  await using directory = await tempDir();
  const listFile = join(directory.path, 'list.json');
  await writeFile(listFile, JSON.stringify({ pages: [[toolNamed('refuse'), toolNamed('announce')]] }));
  const nowhere = 'http://user:canary-of-password@127.0.0.1:1/mcp?key=canary-of-url';
  await using stack = await startToolStack({
    servers: {
      odd: nonstandardServer(listFile, { SERVER_SECRET: 'canary-of-env' }),
      hidden_away: { type: 'http', url: nowhere, headers: { Authorization: 'Bearer canary-of-header' } },
      signed_in: {
        type: 'http',
        url: 'http://127.0.0.1:1/mcp',
        auth: { type: 'bearer', token: 'canary-of-bearer' },
      },
    },
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_counter__e*', 'mcp_odd__*']]]),
  });
  const operator = await stack.client('operator', 'operator');
  const reader = await stack.client('rita', 'reader');
  const collect = async (client: BrokerClient, bodies: object[]) => {
    const replies: string[] = [];
    for (const body of bodies) replies.push(JSON.stringify(await ask(client, body)));
    return replies;
  };
  const questions = [
    { op: 'manifest' },
    { op: 'call', tool: 'mcp_odd__refuse' },
    { op: 'call', tool: 'mcp_odd__refus' },
    { op: 'call', tool: 'mcp_hidden_away__x' },
    { op: 'call', tool: 'mcp_counter__echo', arguments: '[' },
    { op: 'status', request_id: 'unheard-of' },
    { op: 'search', query: 'canary secret hidden_away odd' },
    { op: 'explain', role: 'reader', tool: 'mcp_hidden_away__x' },
    { op: 'servers' },
    { op: 'calls' },
    { op: 'discover' },
    { op: 'reload', server: 'hidden_away' },
    { op: 'start', server: 'hiden_away' },
    { op: 'stop', server: 'signed_in' },
    { op: 'nonsense' },
  ];
  const forReader = await collect(reader, questions);
  const forOperator = await collect(operator, [...questions, { op: 'servers' }]);
  const [, refused] = forReader;
  expect(refused).toContain('bad arguments, [redacted]');
  expect(forOperator[3]).toContain('mcp_server_unreachable');
  const everything = [...forReader, ...forOperator].join('\n');
  for (const canary of canaries) expect(everything).not.toContain(canary);
  for (const [n, reply] of forReader.entries()) {
    // Text of the reader itself may come back in its error.
    if (!JSON.stringify(questions[n]).includes('away')) expect(reply).not.toMatch(/hidden_away|signed_in/);
    expect(reply).not.toContain('127.0.0.1');
  }
  const { servers } = await askData(operator, { op: 'servers' }, serversReplySchema);
  const odd = servers.find(({ name }) => name === 'odd');
  expect(odd?.stderr_tail).toContain('[redacted] end of noise');
  expect(servers.find(({ name }) => name === 'hidden_away')?.last_error).toBeTruthy();
});
