import { join } from 'node:path';
import { type BrokerClient, type ConnectOptions, connectBroker } from '@signalbox/client';
import { runBroker } from '@signalbox/daemon/broker';
import { type AuthEntry, checkConfigText } from '@signalbox/daemon/config';
import { tempDir } from '@signalbox/testing';
import { audience } from './issuer.ts';

/** The rules of the tests' brokers for the tokens of an issuer. */
export function authOf(issuer: string): AuthEntry {
  return {
    issuer,
    audience,
    agentClaim: 'sub',
    roleClaim: 'groups',
    roles: { writers: 'writer', readers: 'reader', watchers: 'observer', runners: 'writer' },
    permissions: { watchers: 'observer', runners: 'mint' },
  };
}

/** Starts a broker from a configuration that accepts the tokens of an issuer. */
export async function startProvidedBroker(issuer: string) {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(await tempDir());
  const text = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: 'data' },
    auth: authOf(issuer),
  });
  const file = join(path, 'signalbox.yaml');
  const config = await checkConfigText(text, file);
  const broker = opening.use(await runBroker({ config }));
  const resources = opening.move();
  const connect = (
    token: string,
    agent = 'rosa',
    more: Partial<ConnectOptions> = {},
  ): Promise<BrokerClient> => connectBroker({ url: broker.url, token, agent, ...more });
  return {
    broker,
    config,
    directory: path,
    connect,
    /** Connects as an operator with a token of the broker. */
    async operator(): Promise<BrokerClient> {
      const { token } = await broker.issueToken({ agent: 'operator.ann', role: 'operator' });
      return await connect(token, 'operator.ann');
    },
    /** Sends an HTTP request with a token. */
    async get(pathAndQuery: string, token?: string) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(`${broker.url.replace('ws', 'http')}${pathAndQuery}`, { headers });
      return { status: response.status, text: await response.text() };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
