import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startProgram } from '../external-program.ts';

const require = createRequire(import.meta.url);
const naiveHttpProxy = fileURLToPath(new URL('./naive-http-proxy.ts', import.meta.url));

/** A proxy from npm that serves a stdio server over streamable HTTP. */
export interface HttpProxy extends AsyncDisposable {
  url: string;
  pid: number;
}

/** Without its store of events, which would cost it memory for a resumption that nobody asks for. */
export async function startMcpProxy(server: string): Promise<HttpProxy> {
  const port = await freePort();
  const options = ['--port', `${port}`, '--host', '127.0.0.1', '--server', 'stream', '--no-eventStore'];
  return startProxy(port, [binOf('mcp-proxy'), ...options, '--', process.execPath, server]);
}

/** `--stateful`: one server process for the session; without it, every request would start one. */
export async function startSupergateway(server: string): Promise<HttpProxy> {
  const port = await freePort();
  const stdio = `"${process.execPath}" "${server}"`;
  const options = ['--stdio', stdio, '--outputTransport', 'streamableHttp', '--stateful'];
  return startProxy(port, [binOf('supergateway'), ...options, '--port', `${port}`, '--logLevel', 'none']);
}

/** The least proxy from HTTP to stdio that the SDK allows. */
export async function startNaiveHttpProxy(server: string): Promise<HttpProxy> {
  const port = await freePort();
  return startProxy(port, [naiveHttpProxy, `${port}`, process.execPath, server]);
}

/** The server without any proxy, over HTTP. */
export async function startHttpServer(server: string): Promise<HttpProxy> {
  const port = await freePort();
  return startProxy(port, [server, 'streamableHttp'], { PORT: `${port}` });
}

/** The program of an npm package. */
export function binOf(name: string): string {
  const manifest = require.resolve(`${name}/package.json`);
  const { bin } = require(manifest) as { bin: Record<string, string> };
  return join(dirname(manifest), Object.values(bin)[0]!);
}

export function versionOf(name: string): string {
  return (require(require.resolve(`${name}/package.json`)) as { version: string }).version;
}

async function startProxy(
  port: number,
  args: string[],
  env: Record<string, string> = {},
): Promise<HttpProxy> {
  const running = await startProgram({ command: process.execPath, args, port, env });
  return Object.assign(running, { url: `http://127.0.0.1:${port}/mcp` });
}
