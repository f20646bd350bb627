import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir, testAuthority } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('A file that the address of the database names for TLS is read by check alone: one that is missing or damaged is an error that names the field.', async () => {
  await using directory = await tempDir();
  const { ca, issue } = await testAuthority();
  const { cert, key } = await issue({ names: ['localhost'] });
  const { key: other } = await issue({ names: ['localhost'] });
  const at = (name: string) => join(directory.path, name);
  const files = { ca, cut: `${ca}${ca.slice(0, 300)}`, text: 'no certificate', cert, key, other };
  for (const [name, text] of Object.entries(files)) await writeFile(at(name), text);
  const check = async (parameters: string, field = 'postgres') => {
    const store = { postgres: 'postgres://rosa@db/x', [field]: `postgres://rosa@db/x?${parameters}` };
    const file = at(`${parameters.replaceAll(/\W/g, '')}.yaml`);
    await writeFile(file, JSON.stringify({ broker: { store } }));
    const { code, stderr } = await signalbox(['config', 'check', file]);
    return `${code} ${stderr.replace(file, '')}`;
  };
  const [right, pair, absent, cut, text, direct, apart] = await Promise.all([
    check(`sslmode=verify-full&sslrootcert=${at('ca')}`),
    check(`sslmode=require&sslcert=${at('cert')}&sslkey=${at('key')}`),
    check(`sslrootcert=${at('absent')}`),
    check(`sslmode=verify-full&sslrootcert=${at('cut')}`),
    check(`sslmode=verify-ca&sslrootcert=${at('text')}`),
    check(`sslmode=require&sslrootcert=${at('absent')}`, 'direct'),
    check(`sslmode=require&sslcert=${at('cert')}&sslkey=${at('other')}`),
  ]);
  expect([right, pair]).toEqual(['0 ', '0 ']);
  expect(absent).toMatch(/^2 : broker\.store\.postgres: the file of sslrootcert can't be read: ENOENT/);
  expect(cut).toMatch(
    /^2 : broker\.store\.postgres: a certificate in the file of sslrootcert, .* is damaged/,
  );
  expect(text).toMatch(
    /^2 : broker\.store\.postgres: the file of sslrootcert, .*, has no certificate in PEM/,
  );
  expect(direct).toMatch(/^2 : broker\.store\.direct: the file of sslrootcert can't be read/);
  expect(apart).toMatch(
    /^2 : broker\.store\.postgres: the files of sslcert and sslkey can't be used together/,
  );
});

test('A capability file that is not there is a warning of config check.', async () => {
  await using directory = await tempDir();
  const config = { capabilities: ['./here.yaml', './gone'] };
  await writeFile(join(directory.path, 'signalbox.yaml'), JSON.stringify(config));
  await writeFile(join(directory.path, 'here.yaml'), '');
  const { code, stderr } = await signalbox(['config', 'check'], { cwd: directory.path });
  const gone = join(directory.path, 'gone');
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `warning: signalbox.yaml: capabilities: there is no file or folder ${gone}\n`,
  });
});

test('A certificate of the broker that up could not use is an error of config check, too.', async () => {
  await using directory = await tempDir();
  const at = (name: string) => join(directory.path, name);
  const { cert, key } = await (await testAuthority()).issue({ names: ['localhost'] });
  await writeFile(at('signalbox.yaml'), 'broker: { tls: { cert: ./cert.pem, key: ./key.pem } }\n');
  const check = () => signalbox(['config', 'check', '--json'], { cwd: directory.path });
  expect(jsonOf(await check())).toMatchObject({ error: { code: 'bad_tls' } });
  await writeFile(at('cert.pem'), cert);
  await writeFile(at('key.pem'), key, { mode: 0o600 });
  expect(jsonOf(await check())).toMatchObject({ ok: true });
});

test('A configuration that is a directory, or no text, is an error that says so.', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'latin1.yaml');
  await writeFile(file, Buffer.from('broker: { data: caf\xe9 }', 'latin1'));
  const latin = await signalbox(['config', 'check', file]);
  expect(latin).toMatchObject({ code: 2, stdout: '', stderr: `${file}: is no UTF-8 text\n` });
  const folder = await signalbox(['config', 'check', directory.path]);
  expect(folder).toMatchObject({
    code: 2,
    stderr: `${directory.path}: cannot be read (it is a directory)\n`,
  });
  await writeFile(file, '\ufeffbroker: { data: café }');
  expect(await signalbox(['config', 'check', file])).toMatchObject({ code: 0, stderr: '' });
  expect(await signalbox(['config', 'check', '--config', file])).toMatchObject({ code: 0, stderr: '' });
});

test('Files of other clients are merged by name, whole entries, and check says what came from where.', async () => {
  await using directory = await tempDir();
  const write = (name: string, text: string) => writeFile(join(directory.path, name), text);
  await mkdir(join(directory.path, 'team'));
  await write(
    'team/mcp.json',
    '{ "servers": { "a": { "command": "node", "cwd": "." }, "b": { "command": "b" }, "odd": { "type": "sse" } } }',
  );
  await write(
    'own.json',
    '{ "mcpServers": { "b": { "url": "https://example.test/mcp" }, "c": { "command": "c" }, "e": { "command": "no-such-command" }, "f": { "command": "./own.json" } } }',
  );
  await write(
    'signalbox.yaml',
    'mcpConfig: [team/mcp.json, own.json]\nmcpServers: { c: { command: d, disabled: true }, a: { lazy: true } }\n' +
      'roles: { reader: { tools: ["mcp_a__*", "mcp_bb__*"] } }\n',
  );
  const { code, stdout, stderr } = await signalbox(['config', 'check'], { cwd: directory.path });
  expect(code).toBe(0);
  expect(stdout).toContain('can be used, with 4 warnings: 5 MCP servers (left out: odd), 1 role;');
  expect(stdout.split('\n').slice(2, 8)).toEqual([
    'SERVER  TYPE             FROM                                      REPLACES',
    'a       stdio            team/mcp.json, refined by signalbox.yaml  -',
    'b       http             own.json                                  team/mcp.json',
    'e       stdio            own.json                                  -',
    'f       stdio            own.json                                  -',
    'c       stdio, disabled  signalbox.yaml                            own.json',
  ]);
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^warning: team\/mcp\.json:1: servers\.odd\.type: .*this server is left out$/),
    "warning: own.json:1: mcpServers.e: 'no-such-command' was not found: no such program on the PATH: install it, or give its path; the server cannot start",
    expect.stringMatching(
      /^warning: own\.json:1: mcpServers\.f: '.*own\.json' is there, but it may not be executed: chmod \+x makes it a program; the server cannot start$/,
    ),
    "warning: signalbox.yaml: roles.reader.tools[1]: 'mcp_bb__*' matches no tool: no server has this name (did you mean 'mcp_b__*'?)",
    '',
  ]);
  await write('team/mcp.json', '{ "servers": {\n "a": { "command": "b", "args": "x" } } }');
  await write('signalbox.yaml', 'mcpConfig: [team/mcp.json, gone.json]');
  const unusable = await signalbox(['config', 'check'], { cwd: directory.path });
  expect(unusable.code).toBe(0);
  expect(unusable.stdout).toContain(
    'can be used, with 2 warnings: 0 MCP servers (left out: a, all of gone.json)',
  );
  expect(unusable.stderr.split('\n')).toEqual([
    'warning: gone.json: there is no such file; signalbox.yaml names it in mcpConfig, and none of its servers is used',
    'warning: team/mcp.json:2: servers.a.args: must be a list: put it in [ ]; this server is left out',
    '',
  ]);
});

test('A server that is given the folder of the data directory is refused by up and by check; over the configuration alone check only warns.', async () => {
  await using directory = await tempDir();
  const write = (name: string, data: string) => {
    const files = { command: 'serve', args: ['.'] };
    return writeFile(join(directory.path, name), JSON.stringify({ broker: { data }, mcpServers: { files } }));
  };
  await write('exposed.yaml', './state');
  await write('apart.yaml', '../elsewhere');
  const run = (...args: string[]) => signalbox(args, { cwd: directory.path });
  const [up, check, warned] = await Promise.all([
    run('up', '--config', 'exposed.yaml'),
    run('config', 'check', 'exposed.yaml', '--json'),
    run('config', 'check', 'apart.yaml'),
  ]);
  expect(up).toMatchObject({ code: 2, stdout: '' });
  expect(up.stderr).toContain(
    `exposed.yaml: mcpServers.files.args[0]: ${directory.path} holds the data directory`,
  );
  expect(up.stderr).toContain('--allow-exposed');
  expect(existsSync(join(directory.path, 'state'))).toBe(false);
  expect(check.code).toBe(2);
  expect(jsonOf(check)).toMatchObject({ error: { code: 'exposed', problems: [expect.any(String)] } });
  expect(warned.code).toBe(0);
  expect(warned.stderr).toContain(
    `warning: apart.yaml: mcpServers.files.args[0]: ${directory.path} holds the configuration`,
  );
});
