import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

const script = fileURLToPath(new URL('../support/mcp-host/environment-server.ts', import.meta.url));

function environmentServer(rest: Partial<StdioServerConfig> = {}): StdioServerConfig {
  return { type: 'stdio', command: process.execPath, args: [script], ...rest };
}

function environmentOf(outcome: ToolCallResult): unknown {
  return 'result' in outcome ? outcome.result.structuredContent : outcome.error;
}

const ours = {
  HTTPS_PROXY: 'http://proxy.example:3128',
  http_proxy: 'http://rosa:proxy-passw0rd@proxy.example:3128',
  NODE_EXTRA_CA_CERTS: fileURLToPath(import.meta.url),
  npm_config_registry: 'https://registry.example/',
  npm_config__authToken: 'npm-token-1',
  SSH_AUTH_SOCK: '/run/agent',
  SERVICE_MODE: 'careful',
  SERVICE_TOKEN: 'service-token-1',
  SIGNALBOX_TOKEN: 'signalbox-token-1',
};

it('gives a server the settings of the network and what it asks for, and no secret that it did not name', async () => {
  for (const [name, value] of Object.entries(ours)) vi.stubEnv(name, value);
  const asking = {
    inheritEnv: ['SERVICE_*', 'SIGNAL*'],
    env: { npm_config_registry: 'https://own.example/' },
  };
  await using host = startTestHost({
    servers: {
      plain: environmentServer(),
      asking: environmentServer(asking),
      named: environmentServer({ inheritEnv: ['SERVICE_TOKEN', 'http_proxy'] }),
    },
  });
  await host.inventory();
  const [plain, asked, named] = await Promise.all(
    ['plain', 'asking', 'named'].map(async (name) =>
      environmentOf(await call(host, `mcp_${name}__environment`)),
    ),
  );
  const { HTTPS_PROXY, NODE_EXTRA_CA_CERTS, npm_config_registry } = ours;
  expect(plain).toMatchObject({
    PATH: process.env.PATH,
    HTTPS_PROXY,
    NODE_EXTRA_CA_CERTS,
    npm_config_registry,
  });
  const others = ['http_proxy', 'npm_config__authToken', 'SSH_AUTH_SOCK', 'SERVICE_TOKEN', 'SIGNALBOX_TOKEN'];
  for (const name of [...others, 'SERVICE_MODE']) expect(plain).not.toHaveProperty(name);
  expect(asked).toMatchObject({ SERVICE_MODE: 'careful', npm_config_registry: 'https://own.example/' });
  for (const name of others) expect(asked).not.toHaveProperty(name);
  // It has them, and they are taken out of its results.
  expect(named).toMatchObject({
    SERVICE_TOKEN: '[redacted]',
    http_proxy: expect.stringMatching(/^(?!.*passw0rd).*\[redacted\]/),
  });
});

it('replaces a server that is to inherit something else, and refuses one that asks for our own variables', async () => {
  await using host = startTestHost({ servers: { a: environmentServer(), b: environmentServer() } });
  await host.inventory();
  const servers = { a: environmentServer(), b: environmentServer({ inheritEnv: ['X_*'] }) };
  expect(await host.apply(servers)).toMatchObject({ changed: ['b'] });
  const wrong = { a: environmentServer({ inheritEnv: ['SIGNALBOX_TOKEN'] }) };
  await expect(host.apply(wrong)).rejects.toMatchObject({
    code: 'bad_config',
    message: expect.stringContaining("server 'a': inheritEnv must not name SIGNALBOX_TOKEN"),
  });
});
