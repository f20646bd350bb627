import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';

it('ejects a server whose starts keep failing, keeps its tools, fails its calls at once, and takes it back on reload', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  const good = JSON.stringify({ pages: [[toolNamed('fail')]] });
  await writeFile(list, good);
  const servers = { "it's odd": { ...nonstandardServer(list), maxRestarts: 2 } };
  await using host = startTestHost({ servers });
  const before = await host.inventory();
  const { name } = before.tools[0]!;
  await writeFile(list, JSON.stringify({ pages: [], exit: 3 }));
  process.kill(host.servers()[0]!.pid!, 'SIGKILL');
  await host.seen('server_lost');
  const waiting = call(host, name);
  expect(await host.seen('server_ejected')).toMatchObject({ restarts: 2, reason: 'exited with code 3' });
  expect(host.events.filter(({ event }) => event === 'server_backing_off')).toHaveLength(2);

  const refusal = {
    error: {
      code: 'mcp_server_unreachable',
      retryable: false,
      may_have_run: false,
      message: expect.stringContaining('exited with code 3'),
      hint: expect.stringContaining("signalbox servers reload 'it'\\''s odd'"),
    },
  };
  expect([await waiting, await call(host, name)]).toMatchObject([refusal, refusal]);
  expect(host.servers()[0]).toMatchObject({ state: 'ejected', instances: 0, pids: [] });
  expect(await host.inventory()).toMatchObject({
    version: before.version,
    problems: [
      { message: expect.stringMatching(/^not available: .* not started any more: exited with code 3/) },
    ],
  });

  expect(await host.reload("it's odd")).toMatchObject({ state: 'backing_off' });
  await host.seen('server_ejected', {}, 2);
  await writeFile(list, good);
  expect(host.servers()[0]).toMatchObject({ restarts: 2, lastError: 'exited with code 3' });
  const reloaded = await host.reload("it's odd");
  expect(reloaded).toMatchObject({ state: 'ready', instances: 1, restarts: 0 });
  expect(reloaded).not.toHaveProperty('lastError');
  expect(await call(host, name)).toMatchObject({ result: { isError: true } });
  expect((await host.inventory()).problems).toEqual([]);
});
