import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { expect, test, vi } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

const MiB = 1024 * 1024;
const messages = 16;

test('The files of a broker get smaller when their messages are settled, a backup holds no free room, and status shows both sizes.', async () => {
  const config = 'mcpServers: {}\nbroker: { data: state, listen: 127.0.0.1:0 }\n';
  await using workspace = await startWorkspace(() => config);
  const { directory, run, ready } = workspace;
  const { env } = await workspace.agent('bob', 'clerk');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  await using bob = await connectBroker({ url: ready.broker.url, token, agent: 'bob' });
  const body = 'x'.repeat(MiB);
  for (let sent = 0; sent < messages; sent++) await bob.deliver({ to: 'bob', kind: 'note', body });
  await using mail = await bob.subscribe();
  for (let taken = 0; taken < messages; taken++) {
    const { value } = await mail.messages.next();
    await bob.ack([value.seq]);
  }
  const bytes = (...path: string[]): number => statSync(join(directory, ...path)).size;
  const full = bytes('state', 'messages.db');
  expect(full).toBeGreaterThan(messages * MiB);

  expect(await run(['backup', 'kept', '--data', 'state'])).toMatchObject({ code: 0 });
  expect(bytes('kept', 'messages.db')).toBeLessThan(12 * MiB);

  const whole = () => bytes('state', 'messages.db') + bytes('state', 'messages.db-wal');
  await vi.waitFor(() => expect(whole()).toBeLessThan(full - 6 * MiB), { timeout: 20_000 });
  const status = jsonOf(await run(['status', '--data', 'state', '--json']));
  const { used_bytes: used, disk_bytes: onDisk } = (status as { broker: Record<string, number> }).broker;
  expect(used).toBeLessThan(12 * MiB);
  expect(onDisk).toBeGreaterThan(bytes('state', 'messages.db'));
  expect(onDisk).toBeLessThan(full);
  expect((await run(['backup', 'verify', 'kept', '--json'])).code).toBe(0);
});
