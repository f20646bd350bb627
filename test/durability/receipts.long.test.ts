import { realpath, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { fileOrder } from '../support/durability/system-calls.ts';
import { canTrace, traceUp } from '../support/durability/traced-broker.ts';

const namedToolsServer = fileURLToPath(new URL('../support/cli/named-tools-server.ts', import.meta.url));

const traced = canTrace();
if (!traced) {
  process.stderr.write(
    '\nNO STRACE HERE: that the log is synced before the receipt is NOT shown by this run. Install strace.\n' +
      'What is still shown is weaker: the files hold each message at its receipt.\n\n',
  );
}

describe.each(traced ? ['with strace'] : [])('a file beside the databases, %s', () => {
  it('gets its name in one step when its content is on disk, and the name is synced', async () => {
    await using directory = await tempDir();
    const path = await realpath(directory.path);
    const config = {
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers: { plain: { command: process.execPath, args: [namedToolsServer, 'look'] } },
    };
    await writeFile(`${path}/signalbox.yaml`, JSON.stringify(config));
    const calls = await traceUp(path);
    for (const name of ['operator.token', 'orchestrator.token', 'broker.json', 'servers.json']) {
      const { synced, renamed, named, openedItself } = fileOrder(calls, `${path}/state`, name);
      expect([name, openedItself]).toEqual([name, -1]);
      expect(synced).toBeGreaterThanOrEqual(0);
      expect(renamed).toBeGreaterThan(synced);
      expect(named).toBeGreaterThan(renamed);
    }
  });
});
