import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mcpToolName } from '@signalbox/mcp-host';
import { mailboxToolNames } from '@signalbox/protocol';
import { knownClients, patienceMs } from '@signalbox/worker/internal';
import { expect, test } from 'vitest';
import { agentClis } from '../support/clients/agent-clis.ts';
import { readRecords } from '../support/clients/client-record.ts';
import { clientsPage, handshakeOf } from '../support/clients/clients-page.ts';
import { ourLongestName } from '../support/clients/probe-mcp-content.ts';
import { root } from '../support/packages/documented-programs.ts';

const records = await readRecords();

test('Each agent CLI that npm run test:clients runs has a record of its version, and the page of the documents is made of the records.', async () => {
  const versions = (list: readonly { package: string; version: string }[]) =>
    list.map(({ package: name, version }) => `${name}@${version}`).toSorted();
  expect(versions(records)).toEqual(versions(agentClis));
  expect(await readFile(join(root, 'docs/clients.md'), 'utf8')).toBe(clientsPage(records, knownClients));
});

test('The patience of each recorded client is known, for the version of its record.', () => {
  for (const { client, version, direct } of records) {
    const { name } = handshakeOf(direct);
    const known = knownClients.find((one) => name.startsWith(one.name));
    expect(known?.seenIn, `${client}, which calls itself ${name}`).toBe(version);
    expect(patienceMs(name)).toBe(known?.answerAfterMs);
  }
});

test('The longest name of a tool of ours reaches the model of each recorded client whole.', () => {
  const longest = mcpToolName('a-server', 'a-tool'.repeat(100)).length;
  expect(ourLongestName.length - longest).toBe('signalbox'.length - 'probe'.length);
  expect(Math.max(...mailboxToolNames.map(({ length }) => length))).toBeLessThanOrEqual(longest);
  for (const { client, direct } of records)
    expect(direct.names[ourLongestName], client).toMatch(new RegExp(`${ourLongestName}$`));
});

test('The model of each recorded client was told of new mail, and read it.', () => {
  for (const { client, through } of records) {
    expect(JSON.stringify(through.read.mcp_everything__echo), client).toContain('[signalbox] 1 new message');
    expect(through.readsMailAs, client).not.toEqual([]);
  }
});
