import { describe, expect, it } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { workerMcp } from '../support/cli/worker-mcp-bridge.ts';
import { everythingText, startWorkspace } from '../support/cli/workspace.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('A tool call under signalbox up on PostgreSQL', () => {
  it('asks nothing of the database if its tool is safe to repeat, and waits for it if it is not', async () => {
    await using schema = await testSchema();
    const { broker, mcpServers, ...rest } = JSON.parse(everythingText());
    const store = { postgres: `\${env:SIGNALBOX_POSTGRES}`, schema: schema.schema };
    const { everything } = mcpServers;
    const servers = {
      everything: { ...everything, safeToRepeat: ['echo'] },
      unsafe: { ...everything, neverRepeat: ['*'] },
    };
    const roles = { researcher: { tools: ['everything:echo', 'unsafe:echo'] } };
    const config = { ...rest, broker: { ...broker, store }, mcpServers: servers, roles };
    await using workspace = await startWorkspace(() => JSON.stringify(config), {
      env: { SIGNALBOX_POSTGRES: schema.url },
    });
    const { env } = await workspace.agent('rosa', 'researcher');
    const { client } = await workerMcp(env);
    await using rosa = client;
    const echo = (server: string) => rosa.call(`mcp_${server}__echo`, { message: 'hi' });
    const isDirect = async () => {
      await echo('everything');
      const { agents } = jsonOf(await workspace.run(['ps', '--json'])) as { agents: object[] };
      return agents;
    };
    await expect
      .poll(isDirect, { timeout: 20_000 })
      .toContainEqual(expect.objectContaining({ agent: 'rosa', lane: true }));
    await schema.sql('BEGIN');
    await schema.sql(`LOCK TABLE ${schema.schema}_journal.call IN ACCESS EXCLUSIVE MODE`);
    const unsafe = echo('unsafe');
    expect(await echo('everything')).toHaveProperty('content.0.text', 'Echo: hi');
    expect(await Promise.race([unsafe, echo('everything').then(() => 'still waits')])).toBe('still waits');
    await schema.sql('COMMIT');
    expect(await unsafe).toHaveProperty('content.0.text', 'Echo: hi');
  });
});
