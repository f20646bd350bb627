import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { markVariable } from '@signalbox/mcp-host/internal';
import { compileCache, connectWire, tempDir, type WireClient } from '@signalbox/testing';
import { describe, expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv, startDaemon } from '../support/cli/command-line.ts';
import { broker, plain } from '../support/cli/up.ts';
import { everythingText, serverScript, startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { canFailDisk, failDiskOf } from '../support/durability/failing-disk.ts';
import { isRunning } from '../support/processes.ts';

const bare = JSON.stringify({ broker });
const patient = { interval: 100 };

test('The face is a third child, beside the broker’s socket and at worker.http: its workers outlive it, and it comes back at the same addresses.', async () => {
  const { broker: listening, ...rest } = JSON.parse(plain);
  const config = JSON.stringify({
    ...rest,
    broker: { ...listening, trustedOrigins: ['https://face.example'] },
    worker: { http: '127.0.0.1:0' },
  });
  await using workspace = await startWorkspace(() => config, { face: true });
  const { broker, face } = workspace.ready;
  const statusUnder = (host: string) =>
    new Promise((resolve, reject) => {
      const asked = request(face!.url!, { method: 'POST', headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('error', reject).end('{}');
    });
  expect(await statusUnder('face.example')).toBe(401);
  expect(await statusUnder('other.example')).toBe(403);
  const { env } = await workspace.agent('researcher-1', 'researcher');
  expect(existsSync(face!.socket)).toBe(true);
  expect(existsSync(`${face!.socket}.pid`)).toBe(true);
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'pipe',
    env: cleanEnv({ ...env, SIGNALBOX_URL: broker.socket! }),
  });
  let notes = '';
  transport.stderr!.on('data', (chunk) => {
    notes += chunk;
  });
  await client.connect(transport);
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const lookOverHttp = async () => {
    const other = new Client({ name: 'agent', version: '1.0.0' });
    const headers = { authorization: `Bearer ${token}` };
    await other.connect(new StreamableHTTPClientTransport(new URL(face!.url!), { requestInit: { headers } }));
    try {
      return await other.callTool({ name: 'mcp_plain__look' });
    } finally {
      await other.close();
    }
  };
  try {
    const look = () => client.callTool({ name: 'mcp_plain__look' }, { timeout: 60_000 });
    const answer = { content: [{ type: 'text', text: expect.stringMatching(/^\d+$/) }] };
    expect(await look()).toMatchObject(answer);
    expect(await lookOverHttp()).toMatchObject(answer);
    process.kill(face!.pid, 'SIGKILL');
    expect(await look()).toMatchObject(answer);
    await vi.waitFor(() => expect(workspace.up.stderr()).toContain('the face is back'), patient);
    expect(notes).toContain('face');
    expect(await lookOverHttp()).toMatchObject(answer);
  } finally {
    await client.close();
  }
  expect(await workspace.up.stop('SIGTERM')).toBe(0);
  expect(existsSync(face!.socket)).toBe(false);
  expect(existsSync(`${face!.socket}.pid`)).toBe(false);
});

test('up fails if the face can’t listen at worker.http, and says what to do; config check refuses what up refuses.', async () => {
  await using directory = await tempDir();
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  using _server = { [Symbol.dispose]: () => server.close() };
  const { port } = server.address() as AddressInfo;
  const config = join(directory.path, 'signalbox.yaml');
  await writeFile(config, JSON.stringify({ broker, worker: { http: `127.0.0.1:${port}` } }));
  const taken = await signalbox(['up', '--config', config, '--json']);
  expect(taken.code).toBe(1);
  expect(jsonOf(taken)).toMatchObject({
    error: { code: 'address_in_use', hint: expect.stringContaining('worker.http') },
  });
  await writeFile(config, JSON.stringify({ broker, worker: { http: '0.0.0.0:0' } }));
  const exposed = await Promise.all(
    [['up'], ['config', 'check']].map((command) => signalbox([...command, '--config', config, '--json'])),
  );
  for (const refused of exposed) {
    expect(jsonOf(refused)).toMatchObject({
      error: { code: 'insecure_listen', message: expect.stringContaining('worker.http: 0.0.0.0:0') },
    });
  }
  const accepted = await signalbox(['config', 'check', '--config', config, '--insecure']);
  expect(accepted).toMatchObject({ code: 0, stderr: '' });
});

test('A child that died is not started again with a configuration that a hosted server could have written, until SIGHUP.', async () => {
  const server = { command: process.execPath, args: ['-e', '', './signalbox.yaml'] };
  const config = { broker: { listen: '127.0.0.1:0', data: './state' }, mcpServers: { server } };
  await using workspace = await startWorkspace(() => JSON.stringify(config));
  const evil = { command: 'touch', args: [join(workspace.directory, 'evil')] };
  const rewritten = JSON.stringify({ ...config, mcpServers: { evil } });
  await writeFile(join(workspace.directory, 'signalbox.yaml'), rewritten);
  // A person who mends an entry and reloads its server is told that the mended one is not in force.
  const waits =
    /have waited for a restart .* \(mcpServers\.evil, mcpServers\.server\): signalbox down, and then up/;
  await vi.waitFor(async () => expect((await workspace.run(['status'])).stdout).toMatch(waits), patient);
  expect(await workspace.run(['servers', 'reload', 'server'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(waits),
  });
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  await vi.waitFor(
    () => expect(workspace.up.stderr()).toContain('has changed, and a hosted server'),
    patient,
  );
  expect(existsSync(join(workspace.directory, 'evil'))).toBe(false);
  process.kill(workspace.up.pid, 'SIGHUP');
  await vi.waitFor(() => expect(existsSync(join(workspace.directory, 'evil'))).toBe(true), patient);
});

test('up on the port of another project’s broker names the configuration of that project, and how this one gets its own.', async () => {
  await using directory = await tempDir();
  const [other, own] = ['other', 'own'].map((name) => join(directory.path, name)) as [string, string];
  const env = { XDG_STATE_HOME: directory.path };
  await mkdir(other);
  await mkdir(own);
  const config = (text: unknown) => JSON.stringify({ broker: text });
  await writeFile(join(other, 'signalbox.yaml'), config({ listen: '127.0.0.1:0', socket: false }));
  await using running = await startDaemon(['broker'], { cwd: other, env });
  const { port } = new URL((running.ready as { url: string }).url);
  await writeFile(join(own, 'signalbox.yaml'), config({ listen: `127.0.0.1:${port}`, data: './state' }));
  const refused = await signalbox(['up', '--json'], { cwd: own, env });
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'address_in_use' } });
  const { error } = jsonOf(refused) as { error: { message: string; hint: string } };
  expect(error.message).toContain(`the broker of ${join(other, 'signalbox.yaml')} runs already, on`);
  expect(error.hint).toContain(`127.0.0.1:${Number(port) + 1}`);
  // A backup can still be restored there.
  for (const args of [['up', '--detach'], ['broker'], ['orchestrator'], ['orchestrator', '--host', 'gpu']]) {
    const run = await signalbox([...args, '--data', './made/state', '--json'], { cwd: own, env });
    expect(jsonOf(run)).toMatchObject({ error: {} });
    expect(run.stdout).not.toContain('up.log');
  }
  expect(await readdir(own)).toEqual(['signalbox.yaml']);
});

test('up without a configuration, on the port of a broker with a data directory of its own, names that broker.', async () => {
  await using directory = await tempDir();
  const [other, own] = ['other', 'own'].map((name) => join(directory.path, name)) as [string, string];
  for (const place of [other, own]) await mkdir(place);
  const config = { broker: { listen: '127.0.0.1:0', data: './state' } };
  await writeFile(join(other, 'signalbox.yaml'), JSON.stringify(config));
  await using running = await startDaemon(['up', '--no-face'], { cwd: other });
  const { host, port } = new URL((running.ready as { broker: { url: string } }).broker.url);
  const env = { XDG_STATE_HOME: directory.path, HOME: directory.path };
  const refused = await signalbox(['up', '--listen', host], { cwd: own, env });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`the broker of ${join(other, 'signalbox.yaml')} runs already, on`);
  expect(refused.stderr).toContain(`end it: signalbox down --data ${join(other, 'state')}`);
  expect(refused.stderr).toContain(
    `set --data and --listen, as in ~/.local/state/signalbox-own and 127.0.0.1:${Number(port) + 1}`,
  );
  // Others could write into such a directory.
  await chmod(join(other, 'state'), 0o777);
  const unnamed = await signalbox(['up', '--listen', host], { cwd: own, env });
  expect(unnamed).toMatchObject({ code: 1, stderr: expect.not.stringContaining('runs already') });
});

test('up with --data on the port of the broker that its configuration started names that broker.', async () => {
  await using directory = await tempDir();
  const config = { broker: { listen: '127.0.0.1:0', socket: false, data: './state' } };
  await writeFile(join(directory.path, 'signalbox.yaml'), JSON.stringify(config));
  await using running = await startDaemon(['broker'], { cwd: directory.path });
  const { host } = new URL((running.ready as { url: string }).url);
  const again = ['up', '--data', 'elsewhere', '--listen', host, '--json'];
  const refused = await signalbox(again, { cwd: directory.path });
  expect(jsonOf(refused)).toMatchObject({
    error: {
      code: 'address_in_use',
      message: expect.stringContaining(`runs already, on ${join(directory.path, 'state')}`),
      hint: expect.stringContaining(`signalbox status --data ${join(directory.path, 'state')};`),
    },
  });
});

test('After kill -9 of up its children end by themselves, and the next up waits for them.', async () => {
  await using workspace = await startWorkspace(() => bare);
  const { broker, orchestrator } = workspace.ready;
  process.kill(orchestrator.pid, 'SIGSTOP');
  using _stopped = {
    [Symbol.dispose]: () => void (isRunning(orchestrator.pid) && process.kill(orchestrator.pid, 'SIGCONT')),
  };
  process.kill(workspace.up.pid, 'SIGKILL');
  const argv = signalboxArgv(['up', '--config', 'signalbox.yaml', '--no-face', '--json']);
  const next = spawn(process.execPath, argv, { cwd: workspace.directory, env: cleanEnv() });
  const ended = once(next, 'exit');
  const ready = once(next.stdout, 'data');
  for await (const line of createInterface({ input: next.stderr })) {
    if (/in use by another orchestrator.*is about to end: waiting for it/.test(line)) break;
  }
  next.stderr.resume();
  process.kill(orchestrator.pid, 'SIGCONT');
  expect(JSON.parse(String(await ready))).toHaveProperty('orchestrator.pid');
  expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([false, false]);
  next.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test.runIf(process.platform === 'linux')(
  'What a server started outside its process group ends after a crash of the server, at the next start after kill -9, and with up, unless the server has leaveDetached.',
  async () => {
    await using dir = await tempDir();
    const everything = serverScript('@modelcontextprotocol/server-everything');
    const server = (name: string) => {
      const detached = `setsid sh -c 'echo $$ >> ${name}.detached; exec sleep 1000'`;
      const script = `echo $$ > ${name}.pid; ${detached} & exec '${process.execPath}' '${everything}'`;
      return { command: 'sh', args: ['-c', script], cwd: dir.path, env: compileCache() };
    };
    const config = { broker, mcpServers: { a: server('a'), b: { ...server('b'), leaveDetached: true } } };
    const pidsIn = async (file: string) =>
      (await readFile(join(dir.path, file), 'utf8')).trim().split('\n').map(Number);
    const detachedBy = (name: string, count: number) =>
      vi.waitFor(async () => {
        const pids = await pidsIn(`${name}.detached`);
        expect(pids).toHaveLength(count);
        return pids[count - 1]!;
      }, patient);
    await using workspace = await startWorkspace(() => JSON.stringify(config), {
      env: { [markVariable]: 'of another host' },
    });
    const { broker: child, orchestrator } = workspace.ready;
    const left: number[] = [];
    try {
      expect(await readFile(`/proc/${child.pid}/environ`, 'latin1')).not.toContain('of another host');
      left.push(await detachedBy('b', 1));
      const first = await detachedBy('a', 1);
      for (const name of ['a', 'b']) process.kill((await pidsIn(`${name}.pid`))[0]!, 'SIGKILL');
      left.push(await detachedBy('b', 2));
      const second = await detachedBy('a', 2);
      await vi.waitFor(() => expect(isRunning(first)).toBe(false), patient);
      await vi.waitFor(
        () => expect(workspace.up.stderr()).toMatch(/detached_process_ended.*"a".*"sleep"/),
        patient,
      );

      for (const pid of [workspace.up.pid, orchestrator.pid]) process.kill(pid, 'SIGKILL');
      await workspace.up.ended;
      expect(isRunning(second)).toBe(true);
      const argv = ['up', '--config', 'signalbox.yaml', '--no-face'];
      await using next = await startDaemon(argv, { cwd: workspace.directory });
      left.push(await detachedBy('b', 3));
      const third = await detachedBy('a', 3);
      expect([isRunning(second), isRunning(third)]).toEqual([false, true]);

      expect(await next.stop()).toBe(0);
      expect(isRunning(third)).toBe(false);
      expect(left.map(isRunning)).toEqual([true, true, true]);
    } finally {
      const all = await Promise.all(['a', 'b'].map((name) => pidsIn(`${name}.detached`)));
      for (const pid of all.flat().filter(isRunning)) process.kill(pid, 'SIGKILL');
    }
  },
);

/** Listens on a port as soon as it is free, and counts who comes. */
async function squatOn(port: number) {
  let visitors = 0;
  const server = createServer((socket) => {
    visitors++;
    socket.on('error', () => {});
  });
  await vi.waitFor(async () => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  }, patient);
  return {
    visitors: () => visitors,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

test('Another process that takes the broker’s port while it is down hears nothing from the orchestrator and from commands; all go on when it is back.', async () => {
  await using workspace = await startWorkspace(() => bare);
  const { up, ready, directory } = workspace;
  const port = Number(new URL(ready.broker.url).port);
  const agents = ['agents', '--config', 'signalbox.yaml', '--json'];
  // The supervisor sleeps until the port is taken.
  process.kill(up.pid, 'SIGSTOP');
  process.kill(ready.broker.pid, 'SIGKILL');
  {
    await using squatter = await squatOn(port);
    process.kill(up.pid, 'SIGCONT');
    const away = await workspace.run(agents);
    expect(away.code).toBe(69);
    expect(jsonOf(away)).toMatchObject({ error: { url: `unix:${directory}/state/broker.sock` } });
    await vi.waitFor(
      () => expect(up.stderr()).toMatch(/something else listens at 127\.0\.0\.1:\d+/),
      patient,
    );
    expect(squatter.visitors()).toBe(0);
    // A client that names the TCP address does connect to it.
    const named = connectSocket(port, '127.0.0.1');
    await once(named, 'connect');
    await vi.waitFor(() => expect(squatter.visitors()).toBe(1));
    named.destroy();
  }
  await vi.waitFor(() => expect(up.stderr()).toContain('the broker is back'), patient);
  await vi.waitFor(async () => {
    expect(jsonOf(await workspace.run(agents))).toMatchObject({ agents: [{ agent: 'orchestrator' }] });
  }, patient);
});

/** Connects as the operator. */
async function connect({ directory, ready }: Workspace): Promise<WireClient> {
  const token = (await readFile(join(directory, 'state', 'operator.token'), 'utf8')).trim();
  return connectWire(ready.broker.url, { agent: 'operator', token });
}

async function send(client: WireClient, id: string): Promise<Record<string, unknown>> {
  client.send({ type: 'deliver', to: 'operator', id, kind: 'note' }, '{}');
  return client.next(['delivered', 'error'], { id });
}

const possible = canFailDisk();
if (!possible) {
  process.stderr.write(
    '\nNO STRACE HERE THAT MAY ATTACH: that up restarts a broker whose disk fails is NOT shown by this run.\n\n',
  );
}

describe.each(possible ? ['with strace'] : [])('A disk that fails under up, %s,', () => {
  test('ends the broker with the reason, and up starts it again; a disk that refuses every change stops nobody from ending', async () => {
    await using workspace = await startWorkspace(() => bare);
    const { up, ready } = workspace;
    {
      await using client = await connect(workspace);
      expect(await send(client, 'before')).toMatchObject({ type: 'delivered' });
      await using _broken = await failDiskOf(ready.broker.pid, 'EIO');
      expect(await send(client, 'lost')).toMatchObject({ code: 'internal', retryable: true });
      await vi.waitFor(() => expect(isRunning(ready.broker.pid)).toBe(false), patient);
    }
    await vi.waitFor(() => expect(up.stderr()).toContain('the broker is back'), patient);
    expect(up.stderr()).toMatch(
      /"how":"[^"]*messages\.db: the disk refused 3 writes in a row.*starting it again/,
    );
    await using client = await connect(workspace);
    client.send({ type: 'peek', request_id: 'p', limit: 10 });
    expect((await client.next('peeked')).messages).toMatchObject([{ id: 'before' }]);
    expect(await send(client, 'lost')).toMatchObject({ type: 'delivered' });

    const broker = up
      .stderr()
      .split('\n')
      .filter((line) => line.includes('"broker_ready"'))
      .map((line) => JSON.parse(line).pid as number)
      .at(-1)!;
    await using _readOnly = await failDiskOf(broker, 'EROFS');
    const ended = up.stop('SIGTERM');
    await vi.waitFor(() => expect([broker, up.pid].map(isRunning)).toEqual([false, false]), patient);
    expect(await ended).toBe(1);
    expect([broker, ready.orchestrator.pid].map(isRunning)).toEqual([false, false]);
    expect(up.stderr()).toMatch(/stop_failed.*EROFS/);
  });
});

test('Tokens whose role was removed are named when the change is in force, at each start, and by config check while the broker runs.', async () => {
  await using workspace = await startWorkspace(() =>
    JSON.stringify({ broker, roles: { writer: { tools: [] }, researcher: { tools: [] } } }),
  );
  await workspace.agent('rosa', 'researcher');
  const check = async () =>
    (jsonOf(await workspace.run(['config', 'check', '--json'])) as { warnings: string[] }).warnings;
  expect(await check()).toEqual([]);
  const file = join(workspace.directory, 'signalbox.yaml');
  await writeFile(file, JSON.stringify({ broker, roles: { writer: { tools: [] } } }));
  const named = /role 'researcher' is not in .*signalbox\.yaml .*; there are tokens with it for rosa/;
  await vi.waitFor(() => expect(workspace.up.stderr()).toMatch(named), patient);
  expect(await check()).toEqual([expect.stringMatching(named)]);
  // The answer is the same wherever the question is asked, and not about the file of the folder.
  const elsewhere = join(workspace.directory, 'elsewhere');
  await mkdir(elsewhere);
  const answers = async (cwd: string) => {
    const at = ['--data', join(workspace.directory, 'state')];
    const status = await signalbox(['status', ...at, '--json'], { cwd });
    const list = await signalbox(['token', 'list', ...at, '--json'], { cwd });
    const { problems } = jsonOf(status) as { problems: string[] };
    return [status.code, problems, (jsonOf(list) as { warnings: string[] }).warnings];
  };
  const inForce = [
    expect.stringMatching(/^role 'researcher' is not in the configuration in force .* for rosa$/),
  ];
  expect(await answers(workspace.directory)).toEqual([1, inForce, inForce]);
  expect(await answers(elsewhere)).toEqual([1, inForce, inForce]);
  await writeFile(join(elsewhere, 'signalbox.yaml'), JSON.stringify({ roles: { reader: { tools: [] } } }));
  expect(await answers(elsewhere)).toEqual([1, inForce, inForce]);
  const before = workspace.up.stderr().length;
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  await vi.waitFor(() => expect(workspace.up.stderr().slice(before)).toMatch(named), patient);
  await workspace.up.stop();
  expect(await check()).toEqual([]);
});

test('A right that is taken away does not wait for the servers of earlier changes to start.', async () => {
  await using workspace = await startWorkspace(everythingText);
  const file = join(workspace.directory, 'signalbox.yaml');
  const config = JSON.parse(await readFile(file, 'utf8'));
  const mayEcho = async () => {
    const matrix = jsonOf(await workspace.run(['tools', 'matrix', '--json']));
    const { tools } = matrix as { tools: { tool: string; may: string[] }[] };
    return tools.some(({ tool, may }) => tool.endsWith('__echo') && may.includes('researcher'));
  };
  // Each of these servers would hold up the next change for a quarter of a minute.
  for (let n = 0; n < 6; n++) {
    const mayCall = n % 2 === 1;
    config.mcpServers[`hanging${n}`] = {
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1000)'],
    };
    config.roles.researcher.tools = mayCall ? ['everything:echo'] : ['everything:get-sum'];
    await writeFile(file, JSON.stringify(config));
    await vi.waitFor(async () => expect(await mayEcho()).toBe(mayCall), patient);
  }
});

test('A second up on the directory of a live one is refused at once, and says how to stop it; SIGINT stops the live one with its children.', async () => {
  await using workspace = await startWorkspace(() => bare);
  const second = await workspace.run(['up', '--config', 'signalbox.yaml', '--json']);
  expect(second.code).toBe(1);
  expect(jsonOf(second)).toMatchObject({
    error: { code: 'data_directory_locked', hint: expect.stringContaining('end it: signalbox down --data') },
  });
  const { error } = jsonOf(second) as { error: { message: string; hint: string } };
  expect(error.message).toContain(
    `the broker of ${join(workspace.directory, 'signalbox.yaml')} runs already, on`,
  );
  expect(error.hint).toContain('broker: { data, listen } in signalbox.yaml');
  expect(second.stderr).not.toContain('waiting for it');

  const { broker, orchestrator } = workspace.ready;
  expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([true, true]);
  expect(await workspace.up.stop('SIGINT')).toBe(0);
  expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([false, false]);
});
