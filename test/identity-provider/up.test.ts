import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken, makeSignInLink } from '@signalbox/client/operator';
import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { jsonOf, signedIn } from '../support/dashboard/api-sign-in.ts';
import {
  type Issuer,
  type IssuerKey,
  inSeconds,
  issuerKey,
  startIssuer,
  withoutKid,
} from '../support/identity-provider/issuer.ts';
import { authOf } from '../support/identity-provider/provided-broker.ts';

const resources = new AsyncDisposableStack();
let key: IssuerKey;
/** Two keys that the issuer publishes without a name. */
const unnamed = await Promise.all([issuerKey('ES256'), issuerKey('ES256')]);
let issuer: Issuer;
let workspace: Workspace;

beforeAll(async () => {
  key = await issuerKey('ES256');
  issuer = resources.use(await startIssuer([key]));
  issuer.published.push(...unnamed.map(withoutKid));
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    orchestrator: { id: 'tools' },
    auth: authOf(issuer.url),
  };
  workspace = resources.use(await startWorkspace(() => JSON.stringify(config)));
});
afterAll(() => resources.disposeAsync());

const connect = (token: string, agent: string): Promise<BrokerClient> =>
  connectBroker({ url: workspace.ready.broker.url, token, agent });

async function operator(): Promise<BrokerClient> {
  const token = await readFile(join(workspace.directory, 'state', 'operator.token'), 'utf8');
  return await connect(token.trim(), requestAddress('operator'));
}

async function revoke(agent: string): Promise<void> {
  await using ann = await operator();
  const { tokens } = await ann.admin('token_list', {});
  await ann.admin('token_revoke', { id: tokens.find((listed) => listed.agent === agent)!.id });
}

/** Writes the signature of an ES256 token in all ways that are valid for what it signs. */
function spellings(token: string): string[] {
  const [header, claims, signature] = token.split('.') as [string, string, string];
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const bytes = Buffer.from(signature, 'base64url');
  const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const mirrored = Buffer.concat([
    bytes.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
  ]).toString('base64url');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const signatures = [signature, mirrored].flatMap((text) =>
    [...alphabet]
      .map((last) => text.slice(0, -1) + last)
      .filter((other) => Buffer.from(other, 'base64url').equals(Buffer.from(text, 'base64url'))),
  );
  return signatures.map((text) => `${header}.${claims}.${text}`);
}

test.each<[string, string, JWTPayload, JWTPayload]>([
  ['rosa', 'without a jti', {}, {}],
  ['max', 'with a jti', { jti: 'one' }, { jti: 'two' }],
  ['kim', 'with a jti that is no text', { jti: null as never }, { jti: null as never }],
])(
  'Once it is revoked, the JWT of %s %s connects in no spelling of its signature, and another JWT connects.',
  async (agent, _, claims, others) => {
    const token = await issuer.sign(key, { sub: agent, ...claims });
    const all = spellings(token);
    expect(all).toHaveLength(32);
    await using first = await connect(token, agent);
    await revoke(agent);
    expect(await first.closed).toMatchObject({ code: 'unauthorized' });
    for (const spelling of all) {
      await expect(connect(spelling, agent)).rejects.toMatchObject({
        code: 'unauthorized',
        message: expect.stringContaining('was revoked'),
      });
    }
    const other = await issuer.sign(key, { sub: agent, exp: inSeconds(700), ...others });
    await using second = await connect(other, agent);
    expect(second.welcome.agent).toBe(agent);
  },
);

test('A minting token, of the provider or of the broker, is for no reserved name, whatever its pattern covers.', async () => {
  await using ann = await operator();
  const cases = [
    ['o*', ['operator', 'operator.ann', 'o.p-erator', 'orchestrator']],
    ['h*', ['human', 'hook.github', 'hook']],
    ['s*', ['system', 'schedule.nightly']],
    ['b*', ['broker']],
  ] as const;
  for (const [pattern, names] of cases) {
    const minting = [
      await issuer.sign(key, { sub: pattern, groups: 'runners' }),
      (await issueToken(ann, { agent: pattern, role: 'writer' })).token,
    ];
    for (const token of minting) {
      for (const name of names) {
        await expect(connect(token, name)).rejects.toMatchObject({
          code: 'forged_sender',
          message: expect.stringContaining(`the name '${name}' is reserved`),
        });
      }
      const allowed = `${pattern[0]}-1`;
      await using minter = await connect(token, allowed);
      for (const name of names) {
        await expect(issueToken(minter, { agent: name, role: 'writer' })).rejects.toMatchObject({
          code: 'forbidden',
        });
      }
      await using child = await connect(
        (await issueToken(minter, { agent: allowed, role: 'writer' })).token,
        allowed,
      );
      expect(child.welcome.agent).toBe(allowed);
    }
  }
});

test('Only a token with the role orchestrator is for the name that the configuration gives the orchestrator.', async () => {
  const refusal = {
    code: 'forged_sender',
    message: expect.stringContaining("'tools' is an orchestrator, and the role of this token is 'writer'"),
  };
  await expect(connect(await issuer.sign(key, { sub: 'tools' }), 'tools')).rejects.toMatchObject(refusal);
  const minting = await issuer.sign(key, { sub: 't*', groups: 'runners' });
  await expect(connect(minting, 'tools')).rejects.toMatchObject(refusal);
  await using minter = await connect(minting, 't-1');
  await expect(issueToken(minter, { agent: 'tools', role: 'writer' })).rejects.toMatchObject({
    ...refusal,
    code: 'forbidden',
  });
  const own = await readFile(join(workspace.directory, 'state', 'orchestrator.token'), 'utf8');
  await using orchestrator = await connect(own.trim(), requestAddress('tools'));
  expect(orchestrator.welcome.role).toBe('orchestrator');
});

test('Two people whose pages look at once share an answer of the broker, and both see what a command of one changed.', async () => {
  await using ann = await operator();
  const { protocol, host } = new URL(workspace.ready.broker.url);
  const here = {
    origin: `${protocol.replace('ws', 'http')}//${host}`,
    link: async () => (await makeSignInLink(ann)).links[0]!,
  };
  const pages = [await signedIn(here), await signedIn(here)];
  const look = () => Promise.all(pages.map((page) => page.get('holds')));
  const ages = async () => (await look()).map(({ headers }) => Number(headers['x-signalbox-age-ms'] ?? 0));
  await expect.poll(async () => (await ages()).filter((age) => age > 0).length).toBe(1);
  const [mine] = pages;
  const placed = jsonOf(
    await mine!.post('holds/place', { on: 'agent', name: 'rosa', reason: 'a look', unchecked: true }),
  );
  const held = (await look()).map((answer) => jsonOf(answer).holds);
  expect(held).toEqual([[expect.objectContaining({ name: 'rosa' })], held[0]]);
  await mine!.post('holds/release', { ids: [placed.hold.id] });
  expect((await look()).map((answer) => jsonOf(answer).holds)).toEqual([[], []]);
});

test('A token that names no key connects with any of the keys that fit it.', async () => {
  for (const one of [...unnamed, key]) {
    await using rosa = await connect(await issuer.sign(one, {}, { kid: undefined }), 'rosa');
    expect(rosa.welcome.role).toBe('writer');
  }
});

test('A token of a key that took the place of another one connects, or is told to try again: it is never refused for good.', async () => {
  const after = await issuerKey('ES256');
  issuer.published = [after.jwk];
  for (const header of [{}, { kid: undefined }]) {
    const outcome = await connect(await issuer.sign(after, {}, header), 'rosa').then(
      async (client) => {
        await client[Symbol.asyncDispose]();
        return 'connected';
      },
      ({ code, retryable }) => `${code}, retryable: ${retryable}`,
    );
    // How long the broker has had its keys depends on the machine: it fetches them twice in a minute at most.
    expect(['connected', 'token_unchecked, retryable: true']).toContain(outcome);
  }
});
