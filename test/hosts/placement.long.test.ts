import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOrchestrator } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { everything, startSite } from '../support/hosts/hosts.ts';

interface Facts {
  name: string;
  state: string;
  last_error?: string;
}

test('A host that is not there yet has failed nothing and fills no log, and when it starts it tells of its own servers only.', async () => {
  const words = [process.execPath, ...everything.args].map((word) => `'${word}'`).join(' ');
  const slow = { command: 'sh', args: ['-c', `sleep 4; exec ${words}`] };
  await using site = await startSite({
    mcpServers: { near: everything, far: { ...slow, host: 'lab' } },
    roles: { artist: { tools: ['near:echo', 'far:echo'] } },
  });
  const { directory, run } = site.hub;
  const at = ['--config', 'signalbox.yaml'];
  const far = async () =>
    (jsonOf(await run(['servers', '--json', ...at])) as { servers: Facts[] }).servers.find(
      ({ name }) => name === 'far',
    );
  await expect
    .poll(far)
    .toMatchObject({ state: 'away', last_error: expect.stringContaining('not been seen') });
  const before = (await run(['status', ...at])).stdout;
  expect(before).toMatch(/^far +away +0 +host 'lab' has not been seen since /m);
  expect(before.split('degraded:')[1]).toMatch(/^\n {2}host lab has not been seen .*: signalbox servers\n$/);
  const listed = await run(['tools', 'list', '--role', 'artist', ...at]);
  expect(listed.stdout).toMatch(/^far is not ready: host 'lab' has not been seen since /m);
  const { entries } = jsonOf(await run(['audit', 'refusal', '--json', ...at])) as { entries: unknown[] };
  expect(entries).toEqual([]);

  const host = spawn(process.execPath, signalboxArgv(['orchestrator', ...at, '--host', 'lab']), {
    cwd: directory,
    env: cleanEnv({}),
  });
  const ended = once(host, 'close');
  let shown = '';
  host.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  await expect.poll(() => shown, { timeout: 30_000 }).toMatch(/^far is still starting \(2 s\)$/m);
  await expect.poll(far, { timeout: 30_000 }).toMatchObject({ state: 'ready' });
  expect((await far())?.last_error).toBeUndefined();
  await expect.poll(() => shown).toContain('the orchestrator without a label has the rules of roles');
  expect(shown).not.toContain('MAY USE');
  expect((await run(['status', ...at])).stdout).toMatch(/\nall is fine\n$/);

  host.kill('SIGKILL');
  await ended;
  await expect.poll(far, { timeout: 30_000 }).toMatchObject({ state: 'away' });
});

test('A label that the configuration does not name is shown as refused everywhere, and starts no second copies of the servers here.', async () => {
  await using site = await startSite({
    mcpServers: { near: everything },
    roles: { artist: { tools: ['near:echo'] } },
  });
  const { directory, run } = site.hub;
  const at = ['--config', 'signalbox.yaml'];
  const copies = await run(['orchestrator', ...at, '--host', 'web']);
  expect(copies).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /the system on \S+state runs \S*signalbox.yaml, which gives no server to host web\n.*set host: web in the entry/,
    ),
  });
  const web = await site.host('web', { render: everything });
  const text = 'host web serves render, which hosts.web of the configuration does not name: refused';
  const status = async () => (await run(['status', ...at])).stdout;
  await expect.poll(status, { timeout: 30_000 }).toContain(`${text}: signalbox servers`);
  expect((await run(['servers', ...at])).stdout).toContain(text);
  expect((await run(['doctor', ...at])).stdout).toContain(text);
  expect(site.hub.up.stderr()).toContain(text);
  await expect
    .poll(web.stderr)
    .toContain(
      'no agent gets the tools of render: hosts.web of the configuration of the orchestrator without',
    );
  const { servers } = await queryOrchestrator(site.operator, 'orchestrator', { op: 'servers' });
  expect(servers).toEqual([expect.objectContaining({ name: 'near' })]);

  const file = join(directory, 'signalbox.yaml');
  const config = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...config, hosts: { web: ['render'] } }));
  await expect.poll(status, { timeout: 30_000 }).not.toContain('refused');
  await site.stopHost('web');
});
