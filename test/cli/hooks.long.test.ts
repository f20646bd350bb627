import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { ask } from '../support/http/ask.ts';

test('An operator sees what came in by each webhook, and what to enter at its sender, and never a secret.', async () => {
  const secret = 'a-secret-of-24-characters';
  await using broker = await startTestBroker({
    trustedOrigins: ['https://hooks.example.com'],
    hooks: {
      github: { to: 'rosa', kind: 'task', secret, signature: 'github' },
      ci: { to: 'rosa', kind: 'note', secret, signature: 'bearer' },
    },
  });
  await broker.token('rosa');
  const headers = { authorization: `Bearer ${secret}` };
  expect((await ask(broker, '/hooks/ci', { method: 'POST', body: 'x', headers })).status).toBe(202);
  expect((await ask(broker, '/hooks/github', { method: 'POST', body: 'x' })).status).toBe(401);
  const hooks = (...args: string[]) => signalbox(['hooks', ...args, '--data', broker.dataDir]);
  const listed = await hooks('list', '--json');
  expect(jsonOf(listed)).toMatchObject({
    hooks: [
      {
        name: 'github',
        stored: 0,
        refused: 1,
        last_refusal: { reason: expect.stringContaining('X-Hub-Signature-256') },
      },
      { name: 'ci', to: 'rosa', kind: 'note', stored: 1, refused: 0, delivered_at: expect.any(Number) },
    ],
  });
  const lines = (await hooks('list')).stdout;
  expect(lines).toMatch(
    /^NAME +TO +KIND +LAST DELIVERY +STORED +REPEATED +REFUSED\ngithub +rosa +task +- +0 +0 +1\n/,
  );
  const shown = (await hooks('show', 'github')).stdout;
  expect(shown).toContain('Payload URL    https://hooks.example.com/hooks/github');
  expect(shown).toContain(`http://127.0.0.1:${broker.port}/hooks/github`);
  expect(shown).toContain('refused last');
  const unknown = await hooks('show', 'gihub');
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean 'github'") });
  for (const text of [listed.stdout, lines, shown]) expect(text).not.toContain(secret);
});
