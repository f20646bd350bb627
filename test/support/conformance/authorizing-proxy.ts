import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes every request on to a local port as it is, `Host` and `Origin` included, with a token for a client that knows of none. */
export async function startAuthorizingProxy(
  port: number,
  token: string,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const onward = send({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
