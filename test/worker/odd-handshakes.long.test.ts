import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { type OddCases, type OddRevision, startOddServer } from '../support/worker/odd-server.ts';
import { officialClients, type Reached } from '../support/worker/official-clients.ts';
import { variantsOf } from '../support/worker/variants.ts';

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: false },
  logging: {},
  completions: {},
  experimental: { a: {} },
  extensions: { b: {} },
};
const serverInfo = {
  name: 'odd',
  version: '1',
  title: 'O',
  websiteUrl: 'https://example.org',
  icons: [{ src: 'a:b' }],
};
const fields = [
  'capabilities',
  ...Object.keys(capabilities).map((field) => `capabilities.${field}`),
  'capabilities.tools.listChanged',
  'capabilities.resources.subscribe',
  'serverInfo',
  ...Object.keys(serverInfo).map((field) => `serverInfo.${field}`),
  'instructions',
  '_meta',
];
const shared = { capabilities, serverInfo, instructions: 'I', _meta: { a: 1 } };
const handshakes: Record<OddRevision, [string, Record<string, unknown>][]> = {
  '2025-11-25': variantsOf({ protocolVersion: '2025-11-25', ...shared }, ['protocolVersion', ...fields]),
  '2026-07-28': variantsOf({ supportedVersions: ['2026-07-28'], ...shared }, [
    'supportedVersions',
    'supportedVersions.0',
    ...fields,
  ]),
};
const told = { content: [{ type: 'text', text: 'told' }] };
const results: OddCases['results'] = {
  'tools/list': { plain: { name: 'plain', inputSchema: { type: 'object' } } },
  'tools/call': { plain: told },
};

const revisions: OddRevision[] = ['2025-11-25', '2026-07-28'];

/** The variants that declare no tools, and so have none. */
const hasNoTools = /^capabilities_(?:6|tools_0)$/;

test.each(revisions)(
  'A server over HTTP whose handshake in revision %s official clients accept is served with all that it says of itself; another one is named with a reason.',
  async (revision) => {
    const variants = handshakes[revision];
    const cases = new Map(
      variants.map(([key, handshake]) => [key, { results, outcomes: {}, notes: {}, handshake }]),
    );
    await using http = await startOddServer(revision, (path) => cases.get(path.slice(1)));
    const protocol = revision === '2026-07-28' ? 'auto' : 'legacy';
    const servers = new Map<string, Reached>();
    await using workspace = await startWorkspace(() => {
      for (const key of cases.keys()) servers.set(key, { url: new URL(`/${key}`, http.url).href });
      const mcpServers = Object.fromEntries(
        [...servers].map(([key, server]) => [key, { ...server, protocol }]),
      );
      const roles = { user: { tools: ['*'] } };
      return JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' }, mcpServers, roles });
    });
    const { env } = await workspace.agent('agent', 'user');
    const connectCurrent = officialClients[1];
    const agent = await connectCurrent({
      command: process.execPath,
      args: signalboxArgv(['worker', 'mcp']),
      env: cleanEnv(env),
    });
    const { warnings } = workspace.ready.orchestrator;
    const offered = new Set((await agent.list('tools/list')).map(({ name }) => name));
    const differences: string[] = [];
    let accepted = 0;
    for (const [key, server] of servers) {
      const name = `mcp_${key}__plain`;
      const answer = offered.has(name) ? await agent.call(name, 'plain').catch(String) : undefined;
      const isServed = isDeepStrictEqual(answer, { ...told, _meta: {} });
      const isNamed = warnings.some((warning: string) => warning.includes(`${key}: `));
      const isAccepted = isServed ? undefined : await isAcceptedByAll(server, revision);
      if (isServed) accepted++;
      else if (isAccepted || !(isNamed || hasNoTools.test(key)))
        differences.push(`${key}: ${JSON.stringify({ isAccepted, isNamed, answer })}`);
    }
    await agent.close();
    expect(differences).toEqual([]);
    expect(accepted).toBeGreaterThan(0.2 * variants.length);
  },
);

/** Returns true if all official clients that speak the revision connect to a server, list its tool and call it. */
async function isAcceptedByAll(server: Reached, revision: OddRevision): Promise<boolean> {
  const clients = revision === '2026-07-28' ? officialClients.slice(1) : officialClients;
  const accepting = await Promise.all(
    clients.map(async (connect) => {
      const client = await connect(server).catch(() => undefined);
      const listed = await client?.list('tools/list').catch(() => []);
      const answer = await client?.call('plain', 'plain').catch(() => undefined);
      await client?.close();
      return listed?.length === 1 && answer !== undefined;
    }),
  );
  return !accepting.includes(false);
}
