import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startHostileServer } from '../support/a2a/hostile-server.ts';
import { ask, startOutsideStage, tokenFile } from '../support/a2a/outside-stage.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

test('No redirect is followed: neither that of a card nor that of a message.', async () => {
  await using stage = await startOutsideStage();
  await using other = await startHostileServer();
  const redirect = (response: ServerResponse): void => {
    response.writeHead(307, { location: `${other.origin}/there` });
    response.end();
  };
  await using moved = await startHostileServer({ '/.well-known/agent-card.json': redirect });
  const token = ['--a2a-token-file', await tokenFile(stage.folder, 'secret')];
  const refused = stage.start(moved.origin, token);
  expect((await refused.ended).code).not.toBe(0);
  expect(refused.stderr()).toContain(`redirects to ${other.origin} (HTTP 307)`);

  await using peer = await startHostileServer({ SendMessage: redirect });
  const run = await stage.serve(peer.origin, token);
  const withdrawal = new AbortController();
  const asked = ask(await stage.client('walt'), 'hello', { signal: withdrawal.signal });
  await expect
    .poll(() => eventsOf(run, 'program_failing'))
    .toMatchObject([{ reason: expect.stringContaining(`redirects to ${other.origin}`) }]);
  withdrawal.abort();
  expect((await asked).status).toBe('cancelled');
  expect(other.seen).toEqual([]);
});
