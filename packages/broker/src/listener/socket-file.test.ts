import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { openSocketFile } from './socket-file.ts';

const home = mkdtempSync(join(tmpdir(), 'signalbox-socket-'));
const servers: Server[] = [];
afterAll(() => rmSync(home, { recursive: true, force: true }));
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Listens like a file system on which `bind` fails in the data directory. */
function listenUnlessIn(directory: string, code: string) {
  return (path: string): Promise<void> => {
    if (path.startsWith(`${directory}/`))
      return Promise.reject(Object.assign(new Error(`listen ${code}`), { code }));
    const server = createServer();
    servers.push(server);
    return new Promise((resolve) => server.listen(path, resolve));
  };
}

test('Where the data directory’s file system holds no sockets, the runtime directory does; another failure is one.', async () => {
  const [dataDir, runtimeDir] = ['data', 'run'].map((name) => mkdtempSync(join(home, name))) as [
    string,
    string,
  ];
  for (const code of ['ENOTSUP', 'EPERM', 'EINVAL']) {
    const listen = listenUnlessIn(dataDir, code);
    const opened = await openSocketFile({ dataDir, runtimeDir, listen });
    expect(opened).toMatchObject({ path: expect.stringContaining(`${runtimeDir}/signalbox-`) });
    expect(await openSocketFile({ dataDir, runtimeDir: undefined, listen })).toMatchObject({
      problems: [expect.stringContaining(code), expect.anything()],
    });
  }
  const listen = listenUnlessIn(dataDir, 'EACCES');
  await expect(openSocketFile({ dataDir, runtimeDir, listen })).rejects.toMatchObject({ code: 'EACCES' });
});
