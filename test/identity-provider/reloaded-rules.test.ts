import { join } from 'node:path';
import { type ConfigDocument, checkConfigText } from '@signalbox/daemon/config';
import { expect, it } from 'vitest';
import { issuerKey, startIssuer } from '../support/identity-provider/issuer.ts';
import { authOf, startProvidedBroker } from '../support/identity-provider/provided-broker.ts';

it('Other rules are in force at a reload: connections with tokens of the provider are judged anew, and other ones stay.', async () => {
  const key = await issuerKey('ES256');
  await using issuer = await startIssuer([key]);
  await using set = await startProvidedBroker(issuer.url);
  const configOf = (auth?: ConfigDocument['auth']) =>
    checkConfigText(JSON.stringify({ ...(auth && { auth }) }), join(set.directory, 'signalbox.yaml'));
  const auth = authOf(issuer.url);
  await using rosa = await set.connect(await issuer.sign(key));
  await using max = await set.connect(await issuer.sign(key, { sub: 'max', groups: 'readers' }), 'max');
  await using operator = await set.operator();
  let hasBroken = false;
  operator.onState(() => {
    hasBroken = true;
  });

  await set.broker.reload(await configOf(auth));
  expect([rosa.state.name, max.state.name]).toEqual(['ready', 'ready']);

  // The readers are out, and the writers are reviewers now.
  await set.broker.reload(await configOf({ ...auth, roles: { writers: 'reviewer' }, permissions: {} }));
  expect(await max.closed).toMatchObject({
    code: 'unauthorized',
    message: expect.stringContaining("'groups' holds 'readers', and auth.roles maps none of it"),
  });
  await expect.poll(() => [rosa.state.name, rosa.welcome.role]).toEqual(['ready', 'reviewer']);

  await set.broker.reload(await configOf());
  expect(await rosa.closed).toMatchObject({
    code: 'unauthorized',
    message: expect.stringContaining('this broker accepts none; set auth in its signalbox.yaml'),
  });
  expect([operator.state.name, hasBroken]).toEqual(['ready', false]);
  const { rows } = await operator.admin('audit', { since: 0, kinds: ['change'] });
  const entries = rows.map(({ entry }) => JSON.parse(entry) as { code: string; detail: string });
  expect(entries.filter(({ code }) => code === 'auth_applied').map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/^tokens of http.* are accepted under rules with the hash [0-9a-f]{16}$/),
    'tokens of no identity provider are accepted',
  ]);
});
